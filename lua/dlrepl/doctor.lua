-- doctor.lua -- dlrepl.doctor(): what this machine has, what is missing, and the next step
--
-- Also `dlrepl doctor` on the command line. Prints; what is only a convenience is called so.
--
-- MUST NOT change anything.

local WIDTH = 100 -- of the text where the terminal is wider

local function size_text(bytes)
  return string.format("%.1f GiB", bytes / 2 ^ 30)
end

local function exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

local function history_file()
  local data, home = os.getenv("XDG_DATA_HOME"), os.getenv("HOME")
  if data and data:sub(1, 1) == "/" then return data .. "/dlrepl/history" end
  return home and home .. "/.local/share/dlrepl/history" or nil
end

-- `lead` and the words, wrapped; later lines are indented by the length of lead.
local function wrap(lead, words, columns)
  local out, line = {}, lead
  for word in words:gmatch("%S+") do
    if #line + #word > columns and #line > #lead then
      out[#out + 1] = line:gsub("%s+$", "")
      line = string.rep(" ", #lead)
    end
    line = line .. word .. " "
  end
  out[#out + 1] = line:gsub("%s+$", "")
  return table.concat(out, "\n")
end

local function processor(f)
  local slow = f.isa:find("base", 1, true) or f.isa == "x86-64"
  return slow and "--" or "ok", string.format("%s; kernels for %s%s", f.cpu or "unknown name",
    f.isa, slow and " (the plain ones: AVX2 would be several times faster)" or "")
end

local function threads(f)
  return "ok", string.format("%d of %d CPUs are used; torch.set_num_threads(n) changes that",
    f.threads, f.cpus)
end

local function memory(f)
  return "ok", string.format("%s in the machine; tensors may take %s, then a RuntimeError says so",
    size_text(f.memory), size_text(f.cap))
end

local function onednn(f)
  local found = f.onednn and f.onednn:match("%d+%.%d")
  if found then
    return "ok", f.onednn .. ": convolutions and large matrix products use it"
  end
  return "--", (f.onednn or "not found") .. ": everything works, large convolutions and matrix "
    .. "products are slower. Debian, Ubuntu: sudo apt install libdnnl-dev"
end

local function readline(f)
  if f.readline_off then
    return "--", "turned off by DLREPL_READLINE=0: no editing, no history, no Tab"
  elseif f.readline then
    return "ok", f.readline .. ": editing, history and Tab at the prompt"
  end
  return "!!", "not found: no editing, no history, no Tab. Debian, Ubuntu: sudo apt install "
    .. "libreadline8"
end

local function terminal(f)
  local utf8_ok = f.charset == "UTF-8"
  local words = f.stdout_terminal
    and string.format("%s, %d columns, %d rows, %s", f.term or "TERM is not set", f.columns or 80,
                      f.rows or 24, f.charset)
    or "output goes to no terminal: plain text of 80 columns"
  if f.no_color then words = words .. ", no colours (NO_COLOR)" end
  if f.stdout_terminal and not utf8_ok then
    return "--", words .. ". For lines and blocks in plots: export LANG=C.UTF-8"
  end
  return "ok", words
end

local function images()
  for _, folder in ipairs {"/usr/share/datasets/fashion-mnist", "data/FashionMNIST/raw"} do
    for _, ending in ipairs {"", ".gz"} do
      local file = folder .. "/train-images-idx3-ubyte" .. ending
      if exists(file) then return "ok", "Fashion-MNIST in " .. folder end
    end
  end
  return "--", "Fashion-MNIST was not found in /usr/share/datasets/fashion-mnist. Debian, Ubuntu: "
    .. "sudo apt install dataset-fashion-mnist; elsewhere see README.md"
end

-- Where `dlrepl kernel install` puts the kernel, and where a distribution would.
local function notebooks()
  local home, data = os.getenv("HOME"), os.getenv("XDG_DATA_HOME")
  local user = os.getenv("JUPYTER_DATA_DIR") or data and data ~= "" and data .. "/jupyter"
    or home and home .. "/.local/share/jupyter"
  local active = os.getenv("VIRTUAL_ENV") or os.getenv("CONDA_PREFIX")
  for _, place in ipairs {user or "", active and active .. "/share/jupyter" or "",
                          "/usr/local/share/jupyter", "/usr/share/jupyter"} do
    local folder = place .. "/kernels/dlrepl"
    if place ~= "" and exists(folder .. "/kernel.json") then
      return "ok", "Jupyter finds the kernel in " .. folder
    end
  end
  return "--", "Jupyter does not know the kernel yet: `dlrepl kernel install` tells it, `make "
    .. "notebook` opens JupyterLab too"
end

local function gpu(f)
  if dlrepl.is_simulated() then
    local cuda = require("torch").cuda
    return "ok", cuda.is_available() and cuda.get_device_name() or "a simulated one, as mps"
  end
  local cuda = require("torch").cuda
  if cuda.is_available() then
    return "ok", string.format("%s (%s, from %s)", cuda.get_device_name(), f.cuda, f.cuda_file)
  end
  local words = string.format("none: %s; dlrepl.simulate(\"t4\") simulates one", f.cuda)
  if f.nvidia then words = words .. ". The NVIDIA card of this machine is not used" end
  return "--", words
end

local function tree(f)
  if f.root == "" then
    return "!!", "the folder lua/ was not found beside the program: nn, optim and data sets are "
      .. "missing. Run `make install`, or the program in its own folder"
  end
  local history = history_file()
  return "ok", "program " .. (f.program or "?") .. "; modules " .. f.root .. "/lua"
    .. (history and "; history " .. history or "")
end

local function lua_words(f)
  return "ok", string.format("%s; heap %.0f KB now", _VERSION, collectgarbage("count"))
end

local rows = {
  {"processor", processor}, {"threads", threads}, {"memory", memory}, {"oneDNN", onednn},
  {"GPU", gpu}, {"Lua", lua_words}, {"Readline", readline}, {"terminal", terminal},
  {"images", images}, {"notebooks", notebooks}, {"files", tree},
}

-- doctor(): prints one line a subject; returns nothing.
return function()
  local f = dlrepl._facts()
  local columns = math.min(WIDTH, dlrepl._columns(io.stdout))
  print(wrap("", string.format("dlrepl %s, PyTorch %s's names; %d operations; C library %s",
    f.version, torch.__version__, f.ops, f.libc), columns))
  local missing = 0
  for _, row in ipairs(rows) do
    local mark, words = row[2](f) -- ok; -- missing but needless; !! wants doing
    if mark == "!!" then missing = missing + 1 end
    print(wrap(string.format("%-2s %-11s ", mark, row[1]), words, columns))
  end
  print(wrap("", missing == 0
    and "Nothing that is needed is missing. (-- marks what would be nice.)"
    or "Lines with !! want doing.", columns))
end
