# Puts the pages of docs/ into one text, for `hocket help TOPIC`; hocket_embed packs it:
#   cmake -DDIR=docs -DPAGES=guides/tools,reference/agents -DOUT=docs.txt -P HocketTopics.cmake
# One text packs better than many: before each page stands a form feed and its name.
string(REPLACE "," ";" PAGES "${PAGES}")
string(ASCII 12 feed)
set(all "")
foreach(page ${PAGES})
  file(READ "${DIR}/${page}.md" text)
  string(APPEND all "${feed}${page}\n${text}")
endforeach()
file(WRITE "${OUT}" "${all}")
