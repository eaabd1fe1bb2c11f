# How other projects find what is installed: files for find_package, and one for pkg-config for each name of hocket_pcs, which
# needs hocket_pc_requires and hocket_pc_private where it is linked statically.
include(CMakePackageConfigHelpers)

set(hocket_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hocket")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/hocketConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/hocketConfig.cmake"
  INSTALL_DESTINATION "${hocket_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/hocketConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/hocketConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/hocketConfigVersion.cmake"
  DESTINATION "${hocket_package_dir}" COMPONENT development)

# Relative to the .pc file, so that an installed tree can be moved.
set(hocket_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(hocket_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(hocket_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH up "/x/${hocket_pc_dir}" "/x")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(hocket_pc_prefix "\${pcfiledir}/${up}")
  set(hocket_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
foreach(pc ${hocket_pcs})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${pc}.pc.in"
    "${CMAKE_CURRENT_BINARY_DIR}/${pc}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${pc}.pc" DESTINATION "${hocket_pc_dir}" COMPONENT development)
endforeach()
