# What the module "hocket" for other Luas is compiled from: bridge_sources, and bridge_loader, what it asks of the system.
set(bridge_text "${CMAKE_BINARY_DIR}/lua/bridge_lua.c")
add_custom_command(OUTPUT "${bridge_text}"
  COMMAND "${CMAKE_COMMAND}" "-DIN=${PROJECT_SOURCE_DIR}/src/module/bridge.lua" "-DOUT=${bridge_text}"
    -DNAME=bridge_lua -P "${PROJECT_SOURCE_DIR}/cmake/HocketText.cmake"
  DEPENDS "${PROJECT_SOURCE_DIR}/src/module/bridge.lua" "${PROJECT_SOURCE_DIR}/cmake/HocketText.cmake" VERBATIM)
set(bridge_sources "${bridge_text}")
foreach(part bridge bridge_json bridge_load bridge_options bridge_runs bridge_save bridge_tools parts)
  list(APPEND bridge_sources "${PROJECT_SOURCE_DIR}/src/module/${part}.c")
endforeach()
if(WIN32)
  set(bridge_loader "${PROJECT_SOURCE_DIR}/src/os/windows/library.c" "${PROJECT_SOURCE_DIR}/src/os/windows/wide.c")
else()
  set(bridge_loader "${PROJECT_SOURCE_DIR}/src/os/posix/library.c")
endif()
