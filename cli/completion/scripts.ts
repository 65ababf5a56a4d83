// Completion scripts of the shells. `gantry __complete` gets the words before the cursor and returns one candidate per line, a
// tab and its description; ":files" means file names.

export const shellNames = ["bash", "zsh", "fish"] as const;

// Plain bash from 3.2 on, without bash-completion. The script rejoins words that bash splits at = and :.
const bash = String.raw`# gantry's completion for bash: source <(gantry completion bash)
_gantry_complete() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() current candidate prefix
  local IFS=$' \t\n'
  # Quotes and variables are not looked into: the words are what stands between blanks.
  read -r -a words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=\${words[\${#words[@]}-1]}
  COMPREPLY=()
  local IFS=$'\n'
  for candidate in $(gantry __complete -- "\${words[@]:1}" 2>/dev/null); do
    if [[ $candidate == :files ]]; then
      compopt -o default 2>/dev/null
      return
    fi
    COMPREPLY+=("\${candidate%%$'\t'*}")
  done
  # Readline holds only what stands behind the last of its own breaks to be the word.
  for prefix in = :; do
    if [[ $current == *$prefix* && $COMP_WORDBREAKS == *$prefix* ]]; then
      prefix=\${current%"\${current##*$prefix}"}
      COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
    fi
  done
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _gantry_complete gantry
`.replaceAll("\\${", "${");

const zsh = String.raw`#compdef gantry
# gantry's completion for zsh: source <(gantry completion zsh)
_gantry() {
  local -a answers shown plain
  local candidate
  answers=("\${(@f)$(gantry __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for candidate in $answers; do
    if [[ $candidate == :files ]]; then
      _files
      return
    fi
    [[ -z $candidate ]] && continue
    # A colon within a candidate is no border to what it is.
    plain=(\${(s:	:)candidate})
    shown+=("\${plain[1]//:/\\:}:\${plain[2]}")
  done
  (( $#shown )) && _describe -V gantry shown
}
if [[ $funcstack[1] == _gantry ]]; then
  _gantry "$@"
else
  compdef _gantry gantry
fi
`.replaceAll("\\${", "${");

const fish = String.raw`# gantry's completion for fish: gantry completion fish > ~/.config/fish/completions/gantry.fish
function __gantry_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l answers (gantry __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$answers[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $answers
    end
end
complete --command gantry --no-files --arguments '(__gantry_complete)'
`;

const scripts: Readonly<Record<(typeof shellNames)[number], string>> = { bash, zsh, fish };

export const shellScript = (shell: (typeof shellNames)[number]): string => scripts[shell];
