# bash completion for imggen; needs bash 4 or later
_imggen() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() count=0 part line answer
  # bash also splits words at : and =, so they are joined again.
  for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $count == 0 || $rest == [[:space:]]* ]]; then words[count++]=; fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    [[ $rest == "$part"* ]] || part=$rest
    words[count-1]+=$part
    rest=${rest#"$part"}
  done
  local current=${words[count-1]} breaks=${COMP_WORDBREAKS//[^:=]/} done=
  [[ $breaks ]] && done=${current%"${current##*[$breaks]}"}
  mapfile -t answer < <(imggen {ask} "=$current" "${words[@]:1:count-2}" 2>/dev/null)
  COMPREPLY=()
  for line in "${answer[@]:1}"; do
    line=${line%%  *}
    COMPREPLY+=("${line#"$done"}")
  done
  local names=
  case ${answer[0]} in
    files) names='*' ;;
    manifests) names='*.@({manifests})' && compopt -o plusdirs ;;
    folders) compopt -o dirnames ;;
  esac
  [[ $names ]] || return
  # bash quotes the candidates as file names, and falls back to its default completion.
  compopt -o filenames -o default
  while IFS= read -r line; do
    [[ ${line,,} == $names ]] && COMPREPLY+=("${line#"$done"}")
  done < <(compgen -f -- "$current")
}
complete -o nosort -F _imggen imggen 2>/dev/null || complete -F _imggen imggen
