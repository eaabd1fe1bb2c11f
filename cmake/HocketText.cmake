# Turns one file into a C source: cmake -DIN=file -DOUT=file.c -DNAME=symbol -P HocketText.cmake
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUT}" "#include <stddef.h>\nextern const char ${NAME}[];\nextern const size_t ${NAME}_size;\n"
  "const char ${NAME}[] = {${bytes}0};\nconst size_t ${NAME}_size = sizeof(${NAME}) - 1;\n")
