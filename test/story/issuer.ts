// A real OIDC issuer in its own process, like a CI provider's: discovery, keys, and an endpoint that issues job tokens. Prints its address as its
// first line and exits when its standard input closes.
// node test/story/issuer.ts

import { createServer, type IncomingMessage } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

const algorithm = "ES256";
const kid = "issuer-key-1";
const { privateKey, publicKey } = await generateKeyPair(algorithm);
/** Tokens are issued at the start time of the test, like the fixed clock of its server, however long the test takes. */
const startedSeconds = Math.floor(Date.now() / 1000);
const keys = { keys: [{ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" }] };

/** Requested paths in order; `/asked` and `/token` belong to the test. */
const asked: string[] = [];
let address = "";

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
};

/** Issues a token with these claims, issuer and times; omits claims that are null. */
const token = (claims: Record<string, unknown>): Promise<string> => {
  const all: Record<string, unknown> = { iss: address, iat: startedSeconds, exp: startedSeconds + 3600, ...claims };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  return new SignJWT(kept).setProtectedHeader({ alg: algorithm, kid }).sign(privateKey);
};

const server = createServer(async (request, response) => {
  const path = request.url ?? "/";
  if (path === "/token") {
    response.end(await token(JSON.parse(await textOf(request)) as Record<string, unknown>));
    return;
  }
  response.setHeader("content-type", "application/json");
  if (path === "/asked") {
    response.end(JSON.stringify(asked));
    return;
  }
  asked.push(path);
  if (path === "/.well-known/openid-configuration") {
    response.end(
      JSON.stringify({
        issuer: address,
        jwks_uri: `${address}/keys`,
        id_token_signing_alg_values_supported: [algorithm],
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
      }),
    );
  } else if (path === "/keys") response.end(JSON.stringify(keys));
  else response.writeHead(404).end("{}");
});

server.listen(0, "127.0.0.1", () => {
  const bound = server.address();
  address = `http://127.0.0.1:${typeof bound === "object" && bound ? bound.port : 0}`;
  process.stdout.write(`${address}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
