#compdef imggen
# zsh completion for imggen
_imggen() {
  local -a answer values
  local line
  answer=("${(@f)$(imggen {ask} "=${(Q)PREFIX}" "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
  for line in "${(@)answer[2,-1]}"; do
    if [[ $line == *'  '* ]]; then
      values+=("${${line%%  *}//:/\\:}:${line#*  }")
    else
      values+=("${line//:/\\:}")
    fi
  done
  (( $#values )) && _describe -V imggen values
  [[ $PREFIX == --*=* ]] && compset -P '*='
  case $answer[1] in
    files) _files ;;
    manifests) _files -g '*.(#i)({manifests})' ;;
    folders) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _imggen ]]; then
  _imggen "$@"
elif (( $+functions[compdef] )); then
  compdef _imggen imggen
else
  # Many .zshrc files run compinit later, so register at the first prompt.
  _imggen_register() {
    add-zsh-hook -d precmd _imggen_register
    (( $+functions[compdef] )) && compdef _imggen imggen
  }
  autoload -Uz add-zsh-hook
  add-zsh-hook precmd _imggen_register
fi
