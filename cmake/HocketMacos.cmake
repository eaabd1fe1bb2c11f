# The library on macOS: libhocket.dylib, which holds all of it (the server of scripted models, both stores, Lua 5.4). The program
# and the modules for other Luas are not built there yet. Apple's linker exports the functions of hocket.h alone.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/hocket/hocket.h" lines REGEX "^HOCKET_API ")
set(names "")
foreach(line ${lines})
  if(line MATCHES "[ *](hocket_[a-z_]+)\\(")
    string(APPEND names "_${CMAKE_MATCH_1}\n")
  else()
    message(FATAL_ERROR "no name is found in: ${line}")
  endif()
endforeach()
set(exports "${CMAKE_BINARY_DIR}/hocket.exports")
file(WRITE "${exports}" "${names}")
include(CheckLinkerFlag)
check_linker_flag(C "LINKER:-exported_symbols_list,${exports}" HOCKET_EXPORTED_SYMBOLS) # Apple's has it, zig's has not

set(dylib_objects
  $<TARGET_OBJECTS:hocket_base> $<TARGET_OBJECTS:hocket_core> $<TARGET_OBJECTS:hocket_net> $<TARGET_OBJECTS:hocket_store>
  $<TARGET_OBJECTS:hocket_os> $<TARGET_OBJECTS:hocket_bind> $<TARGET_OBJECTS:hocket_host> $<TARGET_OBJECTS:hocket_store_sql>
  $<TARGET_OBJECTS:hocket_store_writer> $<TARGET_OBJECTS:hocket_store_sqlite> $<TARGET_OBJECTS:hocket_store_postgres>
  $<TARGET_OBJECTS:hocket_serve> $<TARGET_OBJECTS:hocket_serve_host> $<TARGET_OBJECTS:hocket_pack_serve>)
set(dylib_needs PkgConfig::CJSON PkgConfig::YAML PkgConfig::SQLITE PkgConfig::UV Threads::Threads)
add_library(hocket_dylib SHARED ${dylib_objects})
target_link_libraries(hocket_dylib PRIVATE hocket_flags PkgConfig::LUA ${dylib_needs})
target_include_directories(hocket_dylib INTERFACE "${PROJECT_SOURCE_DIR}/include")
set_target_properties(hocket_dylib PROPERTIES OUTPUT_NAME hocket LINKER_LANGUAGE C SOVERSION 0
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINK_DEPENDS "${exports}")
if(HOCKET_EXPORTED_SYMBOLS)
  target_link_options(hocket_dylib PRIVATE LINKER:-exported_symbols_list,${exports})
endif()

if(HOCKET_TESTS)
  enable_testing()
  add_subdirectory(tests)
endif()
