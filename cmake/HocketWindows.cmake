# The library on Windows: hocket.dll, which holds all of it (the server of scripted models, the store in a file, Lua 5.4 and
# the other libraries), with what a linker of MinGW or MSVC needs. It exports the functions of hocket.h and nothing else.
set(definitions "${CMAKE_BINARY_DIR}/hocket.def")
file(STRINGS "${PROJECT_SOURCE_DIR}/include/hocket/hocket.h" lines REGEX "^HOCKET_API ")
set(names "")
foreach(line ${lines})
  if(line MATCHES "[ *](hocket_[a-z_]+)\\(")
    string(APPEND names "    ${CMAKE_MATCH_1}\n")
  else()
    message(FATAL_ERROR "no name is found in: ${line}")
  endif()
endforeach()
file(GENERATE OUTPUT "${definitions}" CONTENT "LIBRARY hocket.dll\nEXPORTS\n${names}")

add_library(hocket_dll SHARED "${definitions}"
  $<TARGET_OBJECTS:hocket_base> $<TARGET_OBJECTS:hocket_core> $<TARGET_OBJECTS:hocket_net> $<TARGET_OBJECTS:hocket_store>
  $<TARGET_OBJECTS:hocket_os> $<TARGET_OBJECTS:hocket_bind> $<TARGET_OBJECTS:hocket_host> $<TARGET_OBJECTS:hocket_store_sql>
  $<TARGET_OBJECTS:hocket_store_writer> $<TARGET_OBJECTS:hocket_store_sqlite> $<TARGET_OBJECTS:hocket_serve>
  $<TARGET_OBJECTS:hocket_serve_host> $<TARGET_OBJECTS:hocket_pack_serve>)
target_link_libraries(hocket_dll PRIVATE hocket_flags PkgConfig::LUA PkgConfig::CJSON PkgConfig::YAML PkgConfig::CURL
  PkgConfig::SQLITE PkgConfig::XML2 PkgConfig::PCRE2 PkgConfig::UV ntdll)
target_include_directories(hocket_dll INTERFACE "${PROJECT_SOURCE_DIR}/include")
target_link_options(hocket_dll PRIVATE -static LINKER:--defsym,hocket__store_postgres=0 LINKER:--defsym,hocket__pack_bytecode=0 LINKER:--defsym,hocket__pack_topics=0)
set_target_properties(hocket_dll PROPERTIES OUTPUT_NAME hocket PREFIX "" LINKER_LANGUAGE C
  ARCHIVE_OUTPUT_NAME hocket RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
add_custom_command(TARGET hocket_dll POST_BUILD
  COMMAND "${CMAKE_DLLTOOL}" -d "${definitions}" -D hocket.dll -l "${CMAKE_BINARY_DIR}/hocket.lib" VERBATIM)

if(HOCKET_TESTS)
  enable_testing()
  add_subdirectory(tests)
endif()
