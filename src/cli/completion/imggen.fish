# fish completion for imggen
function __imggen_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l answer (imggen {ask} "=$current" $words[2..] 2>/dev/null)
    for line in $answer[2..]
        string replace -- '  ' \t $line
    end
    set -l flag (string match -r -- '^--[^=]+=' $current)
    set -l typed (string replace -- "$flag" '' $current)
    switch "$answer[1]"
        case files
            __fish_complete_path $typed | string replace -r '^' -- "$flag"
        case manifests
            __fish_complete_path $typed | string match -r -i '^[^\t]*(?:/|\.(?:{manifests}))(?:\t.*)?$'
        case folders
            __fish_complete_directories $typed | string replace -r '^' -- "$flag"
    end
end
complete -c imggen -e
complete -c imggen -k -f -a '(__imggen_complete)'
