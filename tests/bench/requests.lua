-- Requests of wrk: RESPONSES FOLDER DOCUMENTS [mixed]. It ends after so many responses.

local left, folder, documents, is_mixed

function init(args)
   left, folder, documents, is_mixed = tonumber(args[1]), args[2], tonumber(args[3]), args[4] == "mixed"
   math.randomseed(58)
   wrk.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
   wrk.headers["Accept"] = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
end

local function form()
   return "name=reader&comment=" .. string.rep("more+words+", math.random(1, 100))
end

function request()
   local page = string.format("/%s/%02d.html", folder, math.random(0, documents - 1))
   local kind = is_mixed and math.random(1, 100) or 100
   if kind <= 4 then return wrk.format("GET", "/moved" .. page) end
   if kind <= 8 then return wrk.format("GET", "/missing" .. page) end
   if kind <= 12 then return wrk.format("POST", "/submit", nil, form()) end
   if kind <= 20 then return wrk.format("POST", page, nil, form()) end
   return wrk.format("GET", page)
end

function response()
   left = left - 1
   -- wrk.thread:stop() ends the thread only: wrk would sleep until the end of its time.
   if left == 0 then os.exit(0) end
end

-- The time was over before.
function done()
   os.exit(1)
end
