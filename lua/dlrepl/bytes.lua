-- bytes.lua -- bytes in words: "312 B", "1.5 KiB", "2.4 GiB"
--
-- For tables and pictures of memory; errors of PyTorch's have its own two digits.

local UNITS = {"B", "KiB", "MiB", "GiB", "TiB"}

return function(n)
  local k = 1
  while n >= 1024 and k < #UNITS do n, k = n / 1024, k + 1 end
  return string.format(k == 1 and "%d %s" or "%.1f %s", n, UNITS[k])
end
