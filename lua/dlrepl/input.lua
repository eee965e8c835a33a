-- input.lua -- input(prompt): a line from the person at the keyboard
--
-- Python's input(). In a notebook the cell asks for it; io.read("l") does the same without words.

-- input(prompt) -> the line without its end, nil at the end of the input.
return function(prompt)
  prompt = prompt == nil and "" or tostring(prompt)
  local kernel = rawget(dlrepl, "kernel")
  if kernel and kernel.active then return kernel.input(prompt, false) end
  io.write(prompt)
  io.flush()
  return io.read("l")
end
