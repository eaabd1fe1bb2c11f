-- Runs without a window where there is none (`love . --headless`).
function love.conf(t)
  t.identity = "hocket-npcs"
  for _, one in ipairs(arg or {}) do
    if one == "--headless" then
      for _, module in ipairs { "window", "graphics", "audio", "sound", "joystick", "touch", "mouse", "font", "image", "video", "physics" } do
        t.modules[module] = false
      end
    end
  end
end
