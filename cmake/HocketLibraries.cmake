# The libraries from the system, each as one imported target. Why each was
# chosen stands in docs/libraries.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_search_module(LUA REQUIRED IMPORTED_TARGET lua5.4 lua-5.4 lua>=5.4)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.87)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson>=1.7.15)
pkg_check_modules(XML2 REQUIRED libxml-2.0>=2.9) # headers alone: it is loaded when a page is read
pkg_check_modules(PCRE2 REQUIRED libpcre2-8>=10.34) # the header alone: it is loaded when a search needs it
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.35) # loaded when a store is opened
pkg_check_modules(SSL REQUIRED IMPORTED_TARGET openssl>=3.0) # loaded when a server has a certificate
pkg_check_modules(PQ REQUIRED libpq>=14) # the header alone: it is loaded when a store is opened
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1>=0.2.5)
if(HOCKET_TESTS)
  pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka>=1.1.5)
  if(NOT CMOCKA_FOUND)
    message(STATUS "cmocka is not installed: the tests are left out")
    set(HOCKET_TESTS OFF)
  endif()
endif()
