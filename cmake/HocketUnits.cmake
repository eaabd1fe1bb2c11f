# systemd's units of `hocket serve` and `hocket work`, and the user that both have. They are installed disabled: whoever wants them says
# systemctl enable.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(hocket_units "${CMAKE_BINARY_DIR}/systemd")
  foreach(unit hocket-serve hocket-work)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/systemd/${unit}.service.in" "${hocket_units}/${unit}.service" @ONLY)
    install(FILES "${hocket_units}/${unit}.service" DESTINATION lib/systemd/system COMPONENT program)
  endforeach()
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/systemd/hocket-serve.socket" DESTINATION lib/systemd/system COMPONENT program)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/systemd/hocket.sysusers" DESTINATION lib/sysusers.d RENAME hocket.conf COMPONENT program)
endif()
