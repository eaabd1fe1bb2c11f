local prices = require "src.prices"

assert(prices.get("tea", function() return 3 end) == 3)
