# Completion in a real shell, at its own line editor: a tab in what is typed.   completion.sh bash|zsh|fish
. "$(dirname "$0")/lib.sh"
need_pty
shell=$1
command -v "$shell" >/dev/null || { echo "skipped: $shell is not installed"; finished=yes; exit 77; }
[ -f "$MANUAL/completions/hocket" ] || { echo "skipped: this build has no completions"; finished=yes; exit 77; }

# A command whose last word is RAN prints its words and does nothing else.
mkdir -p bin team/agents empty
cat >bin/hocket <<END
#!/bin/sh
for word; do :; done
[ "\$word" = RAN ] || exec "$HOCKET" "\$@"
printf 'HAVE:'; printf '<%s>' "\$@"; echo
END
chmod +x bin/hocket
PATH=$WORK/bin:$PATH

case $shell in
bash)
  printf '%s\n' 'PS1=READY' 'bind "set enable-bracketed-paste off"' ". '$MANUAL/completions/hocket'" >rc
  [ ! -f /usr/share/bash-completion/bash_completion ] || sed -i '1i . /usr/share/bash-completion/bash_completion' rc
  echo 'exec bash --noprofile --rcfile rc -i' >start ;;
zsh)
  mkdir z
  printf '%s\n' 'PS1=READY' 'unset zle_bracketed_paste' "fpath=('$MANUAL/completions' \$fpath)" 'autoload -Uz compinit' "compinit -u -d '$WORK/dump'" >z/.zshrc
  export ZDOTDIR=$WORK/z
  echo 'exec zsh -d -i' >start ;;
fish)
  printf '%s\n' "source '$MANUAL/completions/hocket.fish'" 'function fish_prompt; echo -n READY; end' 'function fish_mode_prompt; end' >rc.fish
  export XDG_RUNTIME_DIR=$WORK # it makes a folder there
  echo 'exec fish -N -i -C "source rc.fish"' >start ;;
esac

# completes TYPED WORDS: what is typed, with <tab> for a tab, ends as these words of the command.
completes() {
  typed=$(printf '%s RAN' "$1" | sed 's/<tab>/\t/g')
  run "$PTY" -w READY edits: -w '' "line:$typed" -w 'HAVE:<' wait:0 -w READY edits: -w '' key:4 -- sh start
  what="$shell: $1"
  has out "HAVE:$2<RAN>"
}

run hocket run --model sim --quiet assistant Hello
expect 0
id=$("$HOCKET" runs | cut -c 1-26)
printf -- '---\nname: gardener\n---\nHello.\n' >team/agents/gardener.md
mkdir agents && printf -- '---\nname: smith\n---\nHello.\n' >agents/smith.md
: >'agents/$(touch evaluated).md'; : >'agents/`touch evaluated`.md'

completes 'hocket sched<tab>' '<schedule>'
completes 'hocket schedule pau<tab> nightly' '<schedule><pause><nightly>'
completes 'hocket run --max-cos<tab> 1' '<run><--max-cost><1>'
completes 'hocket run --durability fu<tab>' '<run><--durability><full>'
completes 'hocket run --durability=fu<tab>' '<run><--durability=full>'
completes 'hocket run -q -a den<tab>' '<run><-q><-a><deny>'
completes 'hocket runs --state cut<tab>' '<runs><--state><cut-off>'
completes 'hocket run agents/sm<tab>' '<run><agents/smith.md>'
completes 'hocket run assis<tab>' '<run><assistant>'
completes 'hocket run -C tea<tab>agents x' '<run><-C><team/agents><x>'
completes 'hocket run --model anthropic/claude-fab<tab>' '<run><--model><anthropic/claude-fable-5>'
completes 'hocket run --model smith=anthropic/claude-fab<tab>' '<run><--model><smith=anthropic/claude-fable-5>'
completes "hocket show $(printf '%.12s' "$id")<tab>" "<show><$id>"
completes "hocket say $(printf '%.12s' "$id")<tab> --to smi<tab> Hello" "<say><$id><--to><smith><Hello>"
completes 'hocket models anthr<tab>' '<models><anthropic>'
completes 'hocket mcp ser<tab> --no-to<tab> agents' '<mcp><serve><--no-token><agents>'
completes 'hocket store mig<tab>' '<store><migrate>'
completes 'hocket help sched<tab>' '<help><schedule>'
[ ! -e evaluated ] || fail "a completion has evaluated the name of a file"
finish
