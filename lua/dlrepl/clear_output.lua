-- clear_output.lua -- dlrepl.clear_output(): empty the output of the cell that runs
--
-- For loops that show something anew each time. At a prompt nothing is cleared.

local rich = require "dlrepl.rich"

-- dlrepl.clear_output(wait=false): with wait, what was shown stays until the next output comes, so
-- that nothing flickers.
return function(wait)
  if type(wait) == "table" then wait = wait.wait end
  local kernel = rich.kernel()
  if kernel then kernel.clear_output(wait and true or false) end
end
