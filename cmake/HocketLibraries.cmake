# The libraries from the system, each as one imported target. Why each was
# chosen stands in docs/explanation/internals.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_search_module(LUA REQUIRED IMPORTED_TARGET GLOBAL lua5.4>=5.4.3 lua-5.4>=5.4.3 lua>=5.4.3) # see internals.md
if(NOT LUA_VERSION VERSION_LESS 5.5)
  message(FATAL_ERROR "Lua ${LUA_VERSION} is too new: hocket needs Lua 5.4 (Debian package liblua5.4-dev). Lua 5.5 reads and runs "
    "scripts in other ways; pkg-config finds 5.4 as lua5.4 or lua-5.4.")
endif()
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET GLOBAL libcurl>=7.87)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET GLOBAL libuv>=1.44)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET GLOBAL libcjson>=1.7.15)
pkg_check_modules(XML2 REQUIRED IMPORTED_TARGET GLOBAL libxml-2.0>=2.9) # headers alone: it is loaded when a page is read
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET GLOBAL libpcre2-8>=10.34) # the header alone: it is loaded when a search needs it
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET GLOBAL sqlite3>=3.37) # loaded when a store is opened
if(NOT WIN32)
  pkg_check_modules(SSL REQUIRED IMPORTED_TARGET GLOBAL openssl>=3.0) # loaded when a server has a certificate
  pkg_check_modules(PQ REQUIRED IMPORTED_TARGET GLOBAL libpq>=14) # the header alone: it is loaded when a store is opened
endif()
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET GLOBAL yaml-0.1>=0.2.5)
if(HOCKET_TESTS)
  pkg_check_modules(CMOCKA IMPORTED_TARGET GLOBAL cmocka>=1.1.5)
  if(NOT CMOCKA_FOUND)
    message(STATUS "cmocka is not installed: the tests are left out")
    set(HOCKET_TESTS OFF)
  endif()
endif()
