# Greets whoever is named.
printf 'Helo, %s!\n' "${1:-world}"
