# PowerShell completion for imggen
Register-ArgumentCompleter -Native -CommandName imggen -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString().Trim("'", '"') })
    $answer = @(& imggen {ask} "=$wordToComplete" @words 2>$null)
    $answer | Select-Object -Skip 1 | ForEach-Object {
        $value, $text = $_ -split '  ', 2
        if (-not $text) { $text = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
    if ($answer[0] -in 'files', 'manifests', 'folders') {
        $names = if ($answer[0] -eq 'manifests') { '\.({manifests})$' } else { '' }
        [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete) |
            Where-Object { $_.ResultType -eq 'ProviderContainer' -or $_.ListItemText -match $names }
    }
}
