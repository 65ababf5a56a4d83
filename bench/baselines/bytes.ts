// node:http serving fixed bytes from memory: the lower limit of any server's cost.

import { createServer } from "node:http";

const headers = JSON.parse(process.env.BASELINE_HEADERS ?? "{}") as Record<string, string>;
const body = Buffer.from(process.env.BASELINE_BODY ?? "");

createServer((_request, response) => {
  response.writeHead(200, headers).end(body);
}).listen(Number(process.env.BASELINE_PORT), "127.0.0.1", () => process.send?.("ready"));
