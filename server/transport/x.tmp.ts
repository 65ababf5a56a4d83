import { openEcho, say } from "./echo.fixture.ts";
await using e = await openEcho();
console.log(await say(e, "GET /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{nonsense"));
console.log("--");
console.log(await say(e, "DELETE /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{nonsense"));
console.log("--");
console.log(await say(e, "DELETE /iam/v2/groups/abc HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n{nonsense"));
