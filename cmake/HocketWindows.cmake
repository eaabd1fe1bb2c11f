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

set(dll_objects
  $<TARGET_OBJECTS:hocket_base> $<TARGET_OBJECTS:hocket_core> $<TARGET_OBJECTS:hocket_net> $<TARGET_OBJECTS:hocket_store>
  $<TARGET_OBJECTS:hocket_os> $<TARGET_OBJECTS:hocket_bind> $<TARGET_OBJECTS:hocket_host> $<TARGET_OBJECTS:hocket_store_sql>
  $<TARGET_OBJECTS:hocket_store_writer> $<TARGET_OBJECTS:hocket_store_sqlite> $<TARGET_OBJECTS:hocket_serve>
  $<TARGET_OBJECTS:hocket_serve_host> $<TARGET_OBJECTS:hocket_pack_serve>)
set(dll_needs PkgConfig::CJSON PkgConfig::YAML PkgConfig::CURL PkgConfig::SQLITE PkgConfig::XML2 PkgConfig::PCRE2
  PkgConfig::UV ntdll)
set(dll_options -static LINKER:--defsym,hocket__store_postgres=0 LINKER:--defsym,hocket__pack_bytecode=0
  LINKER:--defsym,hocket__pack_topics=0)
add_library(hocket_dll SHARED "${definitions}" ${dll_objects})
target_link_libraries(hocket_dll PRIVATE hocket_flags PkgConfig::LUA ${dll_needs})
target_include_directories(hocket_dll INTERFACE "${PROJECT_SOURCE_DIR}/include")
target_link_options(hocket_dll PRIVATE ${dll_options})
set_target_properties(hocket_dll PROPERTIES OUTPUT_NAME hocket PREFIX "" LINKER_LANGUAGE C
  ARCHIVE_OUTPUT_NAME hocket RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
add_custom_command(TARGET hocket_dll POST_BUILD
  COMMAND "${CMAKE_DLLTOOL}" -d "${definitions}" -D hocket.dll -l "${CMAKE_BINARY_DIR}/hocket.lib" VERBATIM)

# The module "hocket" for the Luas whose import libraries are there (packaging/windows/recipes/lua_dll.sh): lua/VERSION/hocket.dll
# for ?.dll of package.cpath. That for 5.4 has the library in it, and lives in the same state. The others find
# hocket-bridge.dll: hocket.dll by a name that the module has not.
include(HocketBridgeSources)
set(dll_bridge "${CMAKE_BINARY_DIR}/lua/hocket-bridge.dll")
add_custom_command(OUTPUT "${dll_bridge}" COMMAND "${CMAKE_COMMAND}" -E copy "$<TARGET_FILE:hocket_dll>" "${dll_bridge}"
  DEPENDS hocket_dll VERBATIM)
add_custom_target(hocket_bridge_dll ALL DEPENDS "${dll_bridge}")
set(module_definitions "${CMAKE_BINARY_DIR}/lua/module.def")
file(READ "${PROJECT_SOURCE_DIR}/src/module/parts.c" parts)
string(REGEX MATCHALL "    X\\([a-z_]+" rows "${parts}")
list(TRANSFORM rows REPLACE "    X\\((.*)" "    luaopen_hocket_\\1\n")
string(JOIN "" rows "    luaopen_hocket\n" ${rows})
file(GENERATE OUTPUT "${module_definitions}" CONTENT "LIBRARY hocket.dll\nEXPORTS\n${rows}")
foreach(version 5.1 5.2 5.3 5.4)
  string(REPLACE "." "" digits "${version}")
  find_file(LUA_IMPORTS_${digits} liblua${digits}.dll.a PATHS /lua${digits})
  if(NOT LUA_IMPORTS_${digits})
    continue()
  endif()
  set(target hocket_module${digits})
  get_filename_component(lua_headers "${LUA_IMPORTS_${digits}}" DIRECTORY)
  add_library(${target} MODULE "${module_definitions}" ${bridge_sources} "${PROJECT_SOURCE_DIR}/src/os/windows/stay.c")
  target_include_directories(${target} PRIVATE "${lua_headers}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE "BRIDGE_LIBRARY=\"hocket-bridge.dll\"" LUA_BUILD_AS_DLL)
  if(version STREQUAL 5.4)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/module/hocket.c" ${dll_objects})
    target_link_libraries(${target} PRIVATE hocket_flags "${LUA_IMPORTS_${digits}}" ${dll_needs})
    target_link_options(${target} PRIVATE ${dll_options} LINKER:--defsym,lua_ident=0) # a DLL of Lua does not export it
  else()
    target_sources(${target} PRIVATE ${bridge_loader})
    target_compile_options(${target} PRIVATE -std=gnu11 -Wall -Wextra -fvisibility=hidden)
    target_link_libraries(${target} PRIVATE "${LUA_IMPORTS_${digits}}" Threads::Threads)
    target_link_options(${target} PRIVATE -static)
    add_dependencies(${target} hocket_bridge_dll)
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME hocket PREFIX "" LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lua/${version}")
endforeach()

# ---- Installing -----------------------------------------------------------------------

# `cmake --install build/windows --prefix KIT` makes what an engine needs (packaging/windows/kit.sh adds the tests).
set(CMAKE_INSTALL_BINDIR bin)
set(CMAKE_INSTALL_LIBDIR lib)
set(CMAKE_INSTALL_INCLUDEDIR include)
install(FILES "${CMAKE_BINARY_DIR}/hocket.dll" DESTINATION bin COMPONENT library)
install(FILES "${CMAKE_BINARY_DIR}/hocket.lib" "${CMAKE_BINARY_DIR}/libhocket.dll.a" "${definitions}" DESTINATION lib
  COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/include/hocket/hocket.h" DESTINATION include/hocket COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/hocketWindowsTargets.cmake" DESTINATION lib/cmake/hocket RENAME hocketTargets.cmake
  COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION . COMPONENT library)
install(DIRECTORY "${CMAKE_BINARY_DIR}/lua" DESTINATION . COMPONENT lua FILES_MATCHING PATTERN "*.dll")
set(hocket_pcs hocket)
set(hocket_pc_requires "")
set(hocket_pc_private "")
include(HocketPackage)

if(HOCKET_TESTS)
  enable_testing()
  add_subdirectory(tests)
endif()
