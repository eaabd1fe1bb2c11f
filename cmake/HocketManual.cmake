# Man pages and completions of the shells, made by the program from what it says of itself, and where they are installed.
# Whoever cross-compiles without an emulator has none: the program cannot run here.
if(HOCKET_FUZZ)
  return()
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "hocket: without CMAKE_CROSSCOMPILING_EMULATOR there are no man pages and completions")
  return()
endif()

set(HOCKET_MANUAL_DATE "2026-11-29" CACHE STRING "The date that man pages bear: that of the release")
set(HOCKET_MANUAL "${CMAKE_CURRENT_BINARY_DIR}/manual")
set(tools "${PROJECT_SOURCE_DIR}/docs/tools")
file(GLOB manual_sources CONFIGURE_DEPENDS "${tools}/manual/*")
# Nothing of the builder's settings decides what is written.
set(settings --unset=HOCKET_LUA_PATH --unset=HOCKET_STORE HOCKET_MODEL=sim "HOME=${HOCKET_MANUAL}")
file(MAKE_DIRECTORY "${HOCKET_MANUAL}")
add_custom_command(OUTPUT "${HOCKET_MANUAL}/made"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf man completions
  COMMAND "${CMAKE_COMMAND}" -E env ${settings} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:hocket> help --json > description.json
  COMMAND "${CMAKE_COMMAND}" -E env ${settings} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:hocket> run --store off --trust --quiet -C "${HOCKET_MANUAL}"
    "${tools}/manual.lua" "${HOCKET_MANUAL_DATE}" > made.log
  COMMAND "${CMAKE_COMMAND}" -E touch made
  WORKING_DIRECTORY "${HOCKET_MANUAL}"
  DEPENDS hocket "${tools}/manual.lua" ${manual_sources}
  COMMENT "Writing man pages and completions"
  VERBATIM)
add_custom_target(hocket_manual ALL DEPENDS "${HOCKET_MANUAL}/made")

install(DIRECTORY "${HOCKET_MANUAL}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program FILES_MATCHING PATTERN "*.1")
install(DIRECTORY "${HOCKET_MANUAL}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man5" COMPONENT program FILES_MATCHING PATTERN "*.5")
install(FILES "${HOCKET_MANUAL}/completions/hocket"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
install(FILES "${HOCKET_MANUAL}/completions/_hocket" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT program)
install(FILES "${HOCKET_MANUAL}/completions/hocket.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT program)
