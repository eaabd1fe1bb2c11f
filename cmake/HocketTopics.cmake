# Packs the pages of docs/ into one C source, for `hocket help TOPIC`:
#   cmake -DGZIP=gzip -DDIR=docs -DPAGES=guides/tools,reference/agents -DLIMIT=bytes -DOUT=topics_packed.c -P HocketTopics.cmake
# All pages are one text, which packs better than each alone: before each page stands a form feed and its name.
string(REPLACE "," ";" PAGES "${PAGES}")
file(WRITE "${OUT}.txt" "")
string(ASCII 12 feed)
foreach(page ${PAGES})
  file(READ "${DIR}/${page}.md" text)
  file(APPEND "${OUT}.txt" "${feed}${page}\n${text}")
endforeach()
execute_process(COMMAND "${GZIP}" -9nc "${OUT}.txt" OUTPUT_FILE "${OUT}.gz" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the pages cannot be packed: ${failed}")
endif()
file(READ "${OUT}.gz" hex HEX)
file(SIZE "${OUT}.gz" size)
file(REMOVE "${OUT}.gz" "${OUT}.txt")
if(size GREATER LIMIT)
  message(FATAL_ERROR "the pages have ${size} bytes, packed: ${LIMIT} is the most that they may have")
endif()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUT}" "/* Written by HocketTopics.cmake: ${size} bytes. */\n#include \"cli/help/packed.h\"\n\n"
  "const unsigned char cli_topics_packed[] = {${bytes}};\nconst size_t cli_topics_size = sizeof(cli_topics_packed);\n")
