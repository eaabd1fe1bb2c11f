# hocket::hocket on Windows: hocket.dll, linked by the import library of MSVC or of MinGW. It contains the server of scripted models
# and the store in a file, so hocket::serve and hocket::store are the same library.
get_filename_component(_hocket_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_hocket_imports libhocket.dll.a)
if(MSVC)
  set(_hocket_imports hocket.lib)
endif()
foreach(_hocket_name hocket serve store)
  if(NOT TARGET hocket::${_hocket_name})
    add_library(hocket::${_hocket_name} SHARED IMPORTED)
    set_target_properties(hocket::${_hocket_name} PROPERTIES
      IMPORTED_LOCATION "${_hocket_prefix}/bin/hocket.dll"
      IMPORTED_IMPLIB "${_hocket_prefix}/lib/${_hocket_imports}"
      INTERFACE_INCLUDE_DIRECTORIES "${_hocket_prefix}/include")
  endif()
endforeach()
set(hocket_serve_FOUND TRUE)
set(hocket_store_FOUND TRUE)
