import { MANIFEST_EXTENSIONS } from "../../core/manifest/format.ts";
import type { SHELLS } from "../help/value-types.ts";
import { ASK } from "../session/command.ts";

const MANIFESTS = MANIFEST_EXTENSIONS.map((extension) => extension.slice(1)).join("|");

const BASH = `# bash completion for imggen; needs bash 4 or later
_imggen() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() count=0 part line answer
  # bash splits words at : and = too; they are put together again.
  for part in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $count == 0 || $rest == [[:space:]]* ]]; then words[count++]=; fi
    rest=\${rest#"\${rest%%[![:space:]]*}"}
    [[ $rest == "$part"* ]] || part=$rest
    words[count-1]+=$part
    rest=\${rest#"$part"}
  done
  local current=\${words[count-1]} breaks=\${COMP_WORDBREAKS//[^:=]/} done=
  [[ $breaks ]] && done=\${current%"\${current##*[$breaks]}"}
  mapfile -t answer < <(imggen ${ASK} "=$current" "\${words[@]:1:count-2}" 2>/dev/null)
  COMPREPLY=()
  for line in "\${answer[@]:1}"; do
    line=\${line%%  *}
    COMPREPLY+=("\${line#"$done"}")
  done
  local names=
  case \${answer[0]} in
    files) names='*' ;;
    manifests) names='*.@(${MANIFESTS})' && compopt -o plusdirs ;;
    folders) compopt -o dirnames ;;
  esac
  [[ $names ]] || return
  # Quoted by bash, as names of files; where nothing fits, it completes as it does by default.
  compopt -o filenames -o default
  while IFS= read -r line; do
    [[ \${line,,} == $names ]] && COMPREPLY+=("\${line#"$done"}")
  done < <(compgen -f -- "$current")
}
complete -o nosort -F _imggen imggen 2>/dev/null || complete -F _imggen imggen
`;

const ZSH = `#compdef imggen
# zsh completion for imggen
_imggen() {
  local -a answer values
  local line
  answer=("\${(@f)$(imggen ${ASK} "=\${(Q)PREFIX}" "\${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
  for line in "\${(@)answer[2,-1]}"; do
    if [[ $line == *'  '* ]]; then
      values+=("\${\${line%%  *}//:/\\\\:}:\${line#*  }")
    else
      values+=("\${line//:/\\\\:}")
    fi
  done
  (( $#values )) && _describe -V imggen values
  [[ $PREFIX == --*=* ]] && compset -P '*='
  case $answer[1] in
    files) _files ;;
    manifests) _files -g '*.(#i)(${MANIFESTS})' ;;
    folders) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _imggen ]]; then
  _imggen "$@"
else
  compdef _imggen imggen
fi
`;

const FISH = `# fish completion for imggen
function __imggen_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l answer (imggen ${ASK} "=$current" $words[2..] 2>/dev/null)
    for line in $answer[2..]
        string replace -- '  ' \\t $line
    end
    set -l flag (string match -r -- '^--[^=]+=' $current)
    set -l typed (string replace -- "$flag" '' $current)
    switch "$answer[1]"
        case files
            __fish_complete_path $typed | string replace -r '^' -- "$flag"
        case manifests
            __fish_complete_path $typed | string match -r -i '^[^\\t]*(?:/|\\.(?:${MANIFESTS}))(?:\\t.*)?$'
        case folders
            __fish_complete_directories $typed | string replace -r '^' -- "$flag"
    end
end
complete -c imggen -e
complete -c imggen -k -f -a '(__imggen_complete)'
`;

const POWERSHELL = `# PowerShell completion for imggen
Register-ArgumentCompleter -Native -CommandName imggen -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString().Trim("'", '"') })
    $answer = @(& imggen ${ASK} "=$wordToComplete" @words 2>$null)
    $answer | Select-Object -Skip 1 | ForEach-Object {
        $value, $text = $_ -split '  ', 2
        if (-not $text) { $text = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
    if ($answer[0] -in 'files', 'manifests', 'folders') {
        $names = if ($answer[0] -eq 'manifests') { '\\.(${MANIFESTS})$' } else { '' }
        [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete) |
            Where-Object { $_.ResultType -eq 'ProviderContainer' -or $_.ListItemText -match $names }
    }
}
`;

/** What each shell runs to complete imggen's command lines. */
export const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: BASH,
  zsh: ZSH,
  fish: FISH,
  powershell: POWERSHELL,
};
