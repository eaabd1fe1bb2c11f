# The libraries that are installed, and how other projects find them.
#
#   libhocket         everything that an engine needs: host, bindings, core, transport
#   libhocket-serve   the optional component: the server behind `sim` models
#   libhocket-store   the optional component: runs in a file, by SQLite
#   libhocket-postgres  the optional component: runs in PostgreSQL
#
# Each as a shared library, which exports the public functions alone, and as one archive of all
# its layers. Found by pkg-config (hocket, hocket-serve, hocket-store, hocket-postgres) and by find_package(hocket), which
# gives hocket::hocket and hocket::serve, with COMPONENTS static also hocket::hocket_static and
# hocket::serve_static.
#
# `cmake --install build --component NAME` installs a part alone: program, library, development or lua. The target
# `uninstall` removes what was installed last.
set(HOCKET_SOVERSION 0)

set(hocket_objects
  $<TARGET_OBJECTS:hocket_base> $<TARGET_OBJECTS:hocket_core> $<TARGET_OBJECTS:hocket_net>
  $<TARGET_OBJECTS:hocket_store> $<TARGET_OBJECTS:hocket_os>
  $<TARGET_OBJECTS:hocket_bind> $<TARGET_OBJECTS:hocket_host>)
# The front of all stores is in each: it holds no state.
set(hocket_sql_objects $<TARGET_OBJECTS:hocket_store_sql> $<TARGET_OBJECTS:hocket_store_writer>)
set(hocket_store_objects $<TARGET_OBJECTS:hocket_store_sqlite> ${hocket_sql_objects})
set(hocket_postgres_objects $<TARGET_OBJECTS:hocket_store_postgres> ${hocket_sql_objects})
set(hocket_serve_objects $<TARGET_OBJECTS:hocket_serve> $<TARGET_OBJECTS:hocket_serve_host>
  $<TARGET_OBJECTS:hocket_pack_serve>)
set(hocket_needs PkgConfig::LUA PkgConfig::UV PkgConfig::CJSON PkgConfig::YAML
  Threads::Threads ${CMAKE_DL_LIBS} m)
if(HOCKET_LINK_CURL OR HOCKET_SANITIZE)
  list(APPEND hocket_needs PkgConfig::CURL)
  set(hocket_curl libcurl)
endif()

# ---- Static ---------------------------------------------------------------------------

add_library(hocket_static STATIC ${hocket_objects})
target_link_libraries(hocket_static INTERFACE ${hocket_needs})
add_library(hocket_serve_static STATIC ${hocket_serve_objects})
target_link_libraries(hocket_serve_static INTERFACE hocket_static)
# An archive gives what is asked for: libhocket asks for the store only where it is there.
add_library(hocket_store_static STATIC ${hocket_store_objects})
target_link_libraries(hocket_store_static INTERFACE hocket_static)
target_link_options(hocket_store_static INTERFACE LINKER:-u,hocket__store_sqlite)
set_target_properties(hocket_store_static PROPERTIES
  OUTPUT_NAME hocket-store EXPORT_NAME store_static)
if(HOCKET_LINK_SQLITE OR HOCKET_SANITIZE)
  target_link_libraries(hocket_store_static INTERFACE PkgConfig::SQLITE)
endif()
if(HOCKET_LINK_SSL OR HOCKET_SANITIZE)
  target_link_libraries(hocket_serve_static INTERFACE PkgConfig::SSL)
endif()
add_library(hocket_postgres_static STATIC ${hocket_postgres_objects})
target_link_libraries(hocket_postgres_static INTERFACE hocket_static)
target_link_options(hocket_postgres_static INTERFACE LINKER:-u,hocket__store_postgres)
set_target_properties(hocket_postgres_static PROPERTIES
  OUTPUT_NAME hocket-postgres EXPORT_NAME postgres_static)
set_target_properties(hocket_static PROPERTIES OUTPUT_NAME hocket)
set_target_properties(hocket_serve_static PROPERTIES
  OUTPUT_NAME hocket-serve EXPORT_NAME serve_static)

# Projects that build hocket inside of their own tree (FetchContent) use the names that find_package gives.
function(hocket_name_in_tree target name)
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  add_library(hocket::${name} ALIAS ${target})
endfunction()
hocket_name_in_tree(hocket_static hocket_static)
hocket_name_in_tree(hocket_serve_static serve_static)
hocket_name_in_tree(hocket_store_static store_static)
hocket_name_in_tree(hocket_postgres_static postgres_static)

# ---- Shared ---------------------------------------------------------------------------

# The parts of base/ that libhocket-serve uses hold no state: it has copies of its own.
function(hocket_shared_library target map)
  add_library(${target} SHARED ${ARGN})
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/${map}" LINKER:-z,nodelete)
  if(NOT HOCKET_SANITIZE AND NOT HOCKET_FUZZ)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${HOCKET_SOVERSION}
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/${map}")
endfunction()

if(HOCKET_SHARED)
  hocket_shared_library(hocket_shared libhocket.map ${hocket_objects})
  target_link_libraries(hocket_shared PRIVATE hocket_flags ${hocket_needs})
  set_target_properties(hocket_shared PROPERTIES OUTPUT_NAME hocket EXPORT_NAME hocket)
  hocket_shared_library(hocket_serve_shared libhocket-serve.map ${hocket_serve_objects})
  target_link_libraries(hocket_serve_shared
    PUBLIC hocket_shared PRIVATE hocket_flags hocket_os hocket_base PkgConfig::LUA PkgConfig::UV
    Threads::Threads ${CMAKE_DL_LIBS})
  if(HOCKET_LINK_SSL OR HOCKET_SANITIZE)
    target_link_libraries(hocket_serve_shared PRIVATE PkgConfig::SSL)
  endif()
  set_target_properties(hocket_serve_shared PROPERTIES
    OUTPUT_NAME hocket-serve EXPORT_NAME serve)
  # Loaded by libhocket when a store is opened; it uses nothing of it.
  hocket_shared_library(hocket_store_shared libhocket-store.map
    ${hocket_store_objects} $<TARGET_OBJECTS:hocket_store>)
  target_link_libraries(hocket_store_shared PRIVATE hocket_flags hocket_os hocket_base PkgConfig::UV
    Threads::Threads ${CMAKE_DL_LIBS})
  if(HOCKET_LINK_SQLITE OR HOCKET_SANITIZE)
    target_link_libraries(hocket_store_shared PRIVATE PkgConfig::SQLITE)
  endif()
  set_target_properties(hocket_store_shared PROPERTIES
    OUTPUT_NAME hocket-store EXPORT_NAME store)
  hocket_shared_library(hocket_postgres_shared libhocket-postgres.map
    ${hocket_postgres_objects} $<TARGET_OBJECTS:hocket_store>)
  target_link_libraries(hocket_postgres_shared PRIVATE hocket_flags hocket_os hocket_base PkgConfig::UV
    Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(hocket_postgres_shared PROPERTIES
    OUTPUT_NAME hocket-postgres EXPORT_NAME postgres)
  hocket_name_in_tree(hocket_shared hocket)
  hocket_name_in_tree(hocket_serve_shared serve)
  hocket_name_in_tree(hocket_store_shared store)
  hocket_name_in_tree(hocket_postgres_shared postgres)
  install(TARGETS hocket_shared EXPORT hocketTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(TARGETS hocket_store_shared EXPORT hocketStoreTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(TARGETS hocket_postgres_shared EXPORT hocketPostgresTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(TARGETS hocket_serve_shared EXPORT hocketServeTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# ---- The Lua module -------------------------------------------------------------------

# What a stock lua5.4 finds as "hocket". It finds the libraries beside it, wherever the tree is
# moved to; without shared libraries it holds all of it.
set(HOCKET_LUA_CDIR "${CMAKE_INSTALL_LIBDIR}/lua/5.4" CACHE STRING "Where Lua 5.4 looks for C modules")
include(HocketBridgeSources)
add_library(hocket_module MODULE "${PROJECT_SOURCE_DIR}/src/module/hocket.c" ${bridge_sources} ${bridge_loader})
target_include_directories(hocket_module PRIVATE ${LUA_INCLUDE_DIRS})
target_link_options(hocket_module PRIVATE LINKER:-z,nodelete)
set_target_properties(hocket_module PROPERTIES OUTPUT_NAME hocket PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lua/5.4" INSTALL_RPATH "$ORIGIN;$ORIGIN/../..")
if(HOCKET_SHARED)
  target_link_libraries(hocket_module PRIVATE hocket_flags hocket_serve_shared hocket_shared)
  if(NOT APPLE) # it calls nothing of the C library, but checkers of packages want to see it
    target_link_libraries(hocket_module PRIVATE -Wl,--no-as-needed)
  endif()
else()
  target_link_libraries(hocket_module PRIVATE hocket_flags hocket_serve_static)
endif()
if(HOCKET_STATIC) # nothing could load it
  set_target_properties(hocket_module PROPERTIES EXCLUDE_FROM_ALL ON)
else()
  install(TARGETS hocket_module LIBRARY DESTINATION "${HOCKET_LUA_CDIR}" COMPONENT lua)
endif()

# ---- Files ----------------------------------------------------------------------------

install(TARGETS hocket RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(TARGETS hocket_static hocket_serve_static hocket_store_static hocket_postgres_static EXPORT hocketStaticTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/include/hocket/hocket.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/hocket" COMPONENT development)
# For editors: the annotations. The scripts that run are compiled into the library.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/lua" "${PROJECT_SOURCE_DIR}/docs/stubs"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/hocket" COMPONENT development FILES_MATCHING PATTERN "*.lua")
if(HOCKET_STATIC) # packaging/static/build.sh writes them after the build
  install(FILES "${CMAKE_BINARY_DIR}/THIRD-PARTY.txt" "${CMAKE_BINARY_DIR}/hocket.spdx.json"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
endif()
foreach(component program library development lua)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT ${component})
endforeach()

# ---- find_package and pkg-config ------------------------------------------------------

set(hocket_pcs hocket hocket-serve hocket-store hocket-postgres)
set(hocket_pc_requires "${LUA_MODULE_NAME} libuv libcjson yaml-0.1 ${hocket_curl}")
set(hocket_pc_private "-pthread -ldl -lm")
include(HocketPackage)
foreach(set Targets ServeTargets StoreTargets PostgresTargets StaticTargets)
  if(HOCKET_SHARED OR set STREQUAL "StaticTargets")
    install(EXPORT hocket${set} NAMESPACE hocket:: DESTINATION "${hocket_package_dir}" COMPONENT development)
  endif()
endforeach()

# ---- Removing it again ----------------------------------------------------------------

install(CODE "file(WRITE \"${CMAKE_CURRENT_BINARY_DIR}/install_prefix.txt\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")"
  ALL_COMPONENTS)
configure_file("${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake.in" "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" @ONLY)
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" VERBATIM)
endif()
