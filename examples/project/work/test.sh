# The project's tests.
[ "$(sh greet.sh Ada)" = "Hello, Ada!" ] && echo "1 passed" || { echo "failed: $(sh greet.sh Ada)"; exit 1; }
