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
    -*) COMPREPLY=($(compgen -W "-e -i --gpu --plain --version --help" -- "$word")) ;;
    *) compopt -o filenames 2>/dev/null
       COMPREPLY=($(compgen -f -X '!*.lua' -- "$word") $(compgen -d -- "$word"))
       [ $COMP_CWORD -eq 1 ] && COMPREPLY+=($(compgen -W "learn play export lint doctor kernel" -- "$word")) ;;
  esac
}
complete -F _dlrepl dlrepl
