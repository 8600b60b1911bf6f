"""A voice bot: it greets with a beep, stops when the callee speaks, says goodbye, gives a result and hangs up.
pip install websockets (or apt-get install python3-websockets), then
PORT=8765 BOT_TOKEN=secret BOT_URL=ws://localhost:8765/calls python3 bot.py"""
import asyncio, base64, hashlib, hmac, http, json, os, urllib.request, websockets
TOKEN, URL = os.environ.get("BOT_TOKEN", ""), os.environ.get("BOT_URL", "")  # auth_token, and endpoint as configured
SIGNATURE = base64.b64encode(hmac.new(TOKEN.encode(), URL.encode(), hashlib.sha1).digest()).decode()

# Audio is 8 kHz μ-law, 8 bytes a millisecond. Put your speech synthesis and recognition here.
def beep(ms): return bytes(0x1E if i & 8 else 0x9E for i in range(8 * ms))
def loud(audio): return sum(~b & 0x7F for b in audio) > 50 * len(audio)

def post(call, result, again=True):
    try: urllib.request.urlopen(urllib.request.Request(call["result_url"], json.dumps(result).encode(), {
        "Authorization": "Bearer " + call["result_token"], "Content-Type": "application/json"}), timeout=30).close()
    except OSError as why:  # no connection, or a status that is not 2xx
        print("result not stored:", why, flush=True)
        return again and post(call, result, again=False)

def door(a, b):  # path and headers, or connection and request: before and since websockets 13
    path, headers = (a, b) if isinstance(a, str) else (b.path, b.headers)
    status = {"/health": 200, "/calls": TOKEN and headers.get("X-Twilio-Signature") != SIGNATURE and 403}.get(path, 404)
    if status: return (http.HTTPStatus(status), [], b"") if path is a else a.respond(status, "")

async def conversation(ws):
    call, stream, speaking, heard, interrupted = {}, None, False, 0, 0  # ms of speech; how often
    async def send(event, **fields):
        await ws.send(json.dumps({"event": event, "streamSid": stream, **fields}))
    async def say(ms, name, after=0):
        nonlocal speaking
        await asyncio.sleep(after)
        speaking = True
        await send("media", media={"payload": base64.b64encode(beep(ms)).decode()})
        await send("mark", mark={"name": name})  # comes back when this was played, or cleared
    def result(disposition):
        return {"disposition": disposition, "variables": {"heard_ms": heard, "interrupted": interrupted}}
    async for text in ws:
        event = (frame := json.loads(text))["event"]
        if event == "start":
            call, stream = frame["start"]["customParameters"], frame["start"]["streamSid"]
            await say(3000, "greeting")
        elif event == "media" and loud(audio := base64.b64decode(frame["media"]["payload"])):
            heard += len(audio) // 8
            if speaking:
                speaking, interrupted = False, interrupted + 1
                await send("clear")  # forget what was not played yet
        elif event == "mark" and frame["mark"]["name"] == "greeting":
            speaking, goodbye = False, asyncio.create_task(say(500, "goodbye", after=1))
        elif event == "mark":  # goodbye
            await send("result", result=result("greeted"))
        elif event == "result":
            if frame["result"]["status"] == "refused": print("result refused:", frame["result"], flush=True)
            break  # it is stored, kept, or of no use: hang up
        elif event == "stop":  # the callee hung up, and the socket closes: the result goes by HTTP
            await asyncio.to_thread(post, call, result("hung_up"))

async def main():
    async with websockets.serve(conversation, "", int(os.environ.get("PORT", "8765")), process_request=door):
        await asyncio.Future()  # until it is ended
asyncio.run(main())
