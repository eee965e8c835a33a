-- manual.lua -- the man page and the completions of bash and zsh, from the table of options
--
-- For `make docs`.

local options = require("optable").options
local M = {}

local function roff(text) return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^%.", "\\&.")) end

local HEAD = [==[
.\" Written by `make docs` from src/repl/options.def and docs/make/manual.lua.
.TH DLREPL 1
.SH NAME
dlrepl \- PyTorch's tensors, autograd and modules at a Lua prompt
.SH SYNOPSIS
.B dlrepl
.RI [ options ]
.RI [ FILE " [" ARGS ]]
.SH DESCRIPTION
.B dlrepl
is a tensor engine with autograd, spoken to in Lua 5.4 with PyTorch's names, semantics, printed text,
errors and random numbers. Without
.I FILE
and
.B \-e
it opens the prompt, or runs standard input where that is no terminal.
.SH OPTIONS
]==]

local TAIL = [==[
.SH EXIT STATUS
0, 1 after an uncaught error, 2 for a command line that makes no sense, 130 after an uncaught Ctrl\-C.
.SH ENVIRONMENT
.TP
.B DLREPL_READLINE=0
turns line editing off.
.TP
.B DLREPL_GPU=sim:t4
simulates a GPU, as \-\-gpu does.
.TP
.B DLREPL_CUDA=0
leaves an NVIDIA GPU alone;
.B DLREPL_CUDA_PLUGIN
names another file than dl_cuda.so beside the program,
.B DLREPL_CUBLAS
another cuBLAS (0: none).
.TP
.B DLREPL_ONEDNN=0
computes large products and convolutions without oneDNN; bf16: those of bfloat16 with it on every CPU,
however slow that is.
.TP
.B DLREPL_ISA=base
uses the instructions of x86\-64 alone, v3: those of x86\-64\-v3.
.TP
.B DLREPL_LESSONS
a folder of lessons in place of those that come along;
.B DLREPL_LANG
their language (en),
.B DLREPL_COLUMNS
their width.
.B DLREPL_JUDGE_LOG=1
shows what the process that judges answers writes to its standard error.
.TP
.B NO_COLOR
no colours.
.TP
.B COLUMNS
the width of plots and progress bars where there is no terminal.
.SH FILES
.TP
.I $XDG_DATA_HOME/dlrepl/history
the lines of earlier sessions (else
.IR ~/.local/share/dlrepl/history ).
.TP
.I PREFIX/share/dlrepl
modules, lessons and documentation.
.SH EXAMPLES
.nf
dlrepl \-e 'print(torch.ones(2, 3):sum(1))'
dlrepl train.lua \-\-epochs 3
dlrepl \-i train.lua
.fi
]==]

function M.man(out)
  out:write(HEAD)
  for _, o in ipairs(options) do
    local flag, value = o.form:match("^(%S+)%s*(.*)$")
    local italic = flag:find("^%u") and ".I " or ".B "
    if value ~= "" then
      italic, flag = italic == ".I " and ".I " or ".BI ", italic == ".I " and o.form
                     or flag .. ' " ' .. value .. '"'
    end
    out:write(".TP\n", italic, roff(flag), "\n", roff(o.text), "\n")
  end
  out:write(TAIL)
end

local function flags()
  local list = {}
  for _, o in ipairs(options) do
    local flag = o.form:match("^%-%-?%a+")
    if flag then list[#list + 1] = {flag = flag, value = o.form:match("%s(%u+)$"), text = o.text} end
  end
  return list
end

local function words() -- words that are no options: doctor
  local list = {}
  for _, o in ipairs(options) do
    if o.form:find("^%l+$") then list[#list + 1] = {flag = o.form, text = o.text} end
  end
  return list
end

function M.bash(out)
  local names, plain = {}, {}
  for i, f in ipairs(flags()) do names[i] = f.flag end
  for i, w in ipairs(words()) do plain[i] = w.flag end
  out:write(string.format([==[
# bash completion of dlrepl; written by `make docs`
_dlrepl() {
  local word=${COMP_WORDS[COMP_CWORD]} i
  COMPREPLY=()
  [ "${COMP_WORDS[COMP_CWORD-1]}" = -e ] && return
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -e) ((i++)) ;;
      -*) ;;
      *) compopt -o default; return ;;
    esac
  done
  case $word in
    -*) COMPREPLY=($(compgen -W "%s" -- "$word")) ;;
    *) compopt -o filenames 2>/dev/null
       COMPREPLY=($(compgen -f -X '!*.lua' -- "$word") $(compgen -d -- "$word"))
       [ $COMP_CWORD -eq 1 ] && COMPREPLY+=($(compgen -W "%s" -- "$word")) ;;
  esac
}
complete -F _dlrepl dlrepl
]==], table.concat(names, " "), table.concat(plain, " ")))
end

local function zsh_text(text) return (text:gsub("[%[%]:\\']", {["["] = "\\[", ["]"] = "\\]",
  [":"] = "\\:", ["\\"] = "\\\\", ["'"] = "'\\''"})) end

function M.zsh(out)
  out:write("#compdef dlrepl\n# zsh completion of dlrepl; written by `make docs`\n\n")
  out:write("_dlrepl_first() {\n  local -a words=(\n")
  for _, w in ipairs(words()) do
    out:write(string.format("    '%s:%s'\n", w.flag, zsh_text(w.text)))
  end
  out:write("  )\n  (( CURRENT == 2 )) && _describe 'command' words\n  _files -g '*.lua'\n}\n\n")
  out:write("_arguments -S \\\n")
  for _, f in ipairs(flags()) do
    local many = f.text:find("several") and "*" or ""
    out:write(string.format("  '%s%s[%s]%s' \\\n", many, f.flag, zsh_text(f.text),
                            f.value and ":" .. f.value:lower() .. ":" or ""))
  end
  out:write("  '1:program:_dlrepl_first' \\\n  '*::arguments:_files'\n")
end

return M
