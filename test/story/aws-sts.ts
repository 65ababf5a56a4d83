// A fake AWS Security Token Service on loopback that answers GetCallerIdentity for its access keys. Implements Signature Version 4 from the
// specification for client and server, checked against a vector published by AWS.

import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

export interface Signing {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Signed headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** "20150830T123600Z" */
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly secret: string;
}

export const signatureOf = ({ method, path, query, headers, date, region, service, secret }: Signing): string => {
  const names = Object.keys(headers).sort();
  const canonical = [
    method,
    path,
    query.split("&").sort().join("&"),
    ...names.map((name) => `${name}:${(headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    sha256(""),
  ].join("\n");
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = ["aws4_request", service, region, date.slice(0, 8)].reduceRight<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`);
  return hmac(key, ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n")).toString("hex");
};

export interface AwsKey {
  readonly id: string;
  readonly secret: string;
  readonly session?: string;
}

export const dateOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, "");

/** The content of a request and its spelling. */
export interface Spelling {
  readonly key: AwsKey;
  readonly audience: string;
  readonly identity: string;
  readonly nowMs: number;
  readonly host?: string;
  readonly region?: string;
  readonly accept?: string;
  readonly more?: readonly string[];
  /** Replaces or removes signed headers. */
  readonly signed?: Readonly<Record<string, string | undefined>>;
  readonly requestLine?: string;
  readonly body?: string;
  /** Edits the final text of the request. */
  readonly turn?: (text: string) => string;
}

/** Returns a token as the public SDK makes it. */
export const awsToken = (spelling: Spelling): string => {
  const { key, audience, identity, nowMs, host = "sts.amazonaws.com", region = "us-east-1", accept = "application/json", more = [] } = spelling;
  const date = dateOf(nowMs);
  const given: Record<string, string | undefined> = {
    accept,
    "chainguard-audience": audience,
    "chainguard-identity": identity,
    host,
    "x-amz-date": date,
    "x-amz-security-token": key.session,
    ...spelling.signed,
  };
  const headers = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  const signature = signatureOf({
    method: "POST",
    path: "/",
    query: "Action=GetCallerIdentity&Version=2011-06-15",
    headers,
    date,
    region,
    service: "sts",
    secret: key.secret,
  });
  const credential = `${key.id}/${date.slice(0, 8)}/${region}/sts/aws4_request`;
  const lines = [
    spelling.requestLine ?? "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1",
    ...Object.entries(headers).map(([name, value]) => `${name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())}: ${value}`),
    "User-Agent: Go-http-client/1.1",
    "Content-Length: 0",
    `Authorization: AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${Object.keys(headers).sort().join(";")}, Signature=${signature}`,
    ...more,
  ];
  const text = `${lines.join("\r\n")}\r\n\r\n${spelling.body ?? ""}`;
  return Buffer.from((spelling.turn ?? ((same) => same))(text), "latin1").toString("base64url");
};

export interface Sts {
  readonly url: string;
  readonly asked: { readonly line: string; readonly headers: Readonly<Record<string, string>> }[];
  /** Handles the request instead if it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  close(): void;
}

export interface Principal extends AwsKey {
  readonly account: string;
  readonly arn: string;
  readonly userId: string;
}

const json = ({ account, arn, userId }: Principal): string =>
  JSON.stringify({
    GetCallerIdentityResponse: { GetCallerIdentityResult: { Account: account, Arn: arn, UserId: userId }, ResponseMetadata: { RequestId: "1" } },
  });

const xml = ({ account, arn, userId }: Principal): string =>
  `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  <GetCallerIdentityResult>\n    <Arn>${arn}</Arn>\n` +
  `    <UserId>${userId}</UserId>\n    <Account>${account}</Account>\n  </GetCallerIdentityResult>\n</GetCallerIdentityResponse>\n`;

/** Returns the principal that signed the request; undefined if none did. */
const signerOf = (request: IncomingMessage, principals: readonly Principal[]): Principal | undefined => {
  const [matched, id, day, region, signed = "", signature] =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d+)\/([^/]+)\/sts\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]+)$/.exec(
      request.headers.authorization ?? "",
    ) ?? [];
  const principal = principals.find((each) => each.id === id);
  const date = String(request.headers["x-amz-date"] ?? "");
  if (matched === undefined || !principal || !day || !date.startsWith(day) || principal.session !== request.headers["x-amz-security-token"]) return undefined;
  const headers = Object.fromEntries(signed.split(";").map((name) => [name, String(request.headers[name] ?? "")]));
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const wanted = signatureOf({ method: request.method ?? "", path, query, headers, date, region: region ?? "", service: "sts", secret: principal.secret });
  return wanted === signature && query.includes("Action=GetCallerIdentity") ? principal : undefined;
};

export const startSts = async (principals: readonly Principal[]): Promise<Sts> => {
  const sts: { -readonly [K in keyof Sts]: Sts[K] } = { url: "", asked: [], instead: undefined, close: () => {} };
  const server = createServer((request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    sts.asked.push({ line: `${request.method} ${request.url}`, headers });
    if (sts.instead?.(request, response)) return;
    const principal = signerOf(request, principals);
    const asJson = (request.headers.accept ?? "").includes("json");
    response.setHeader("content-type", asJson ? "application/json" : "text/xml");
    if (!principal)
      response
        .writeHead(403)
        .end(asJson ? '{"Error":{"Code":"SignatureDoesNotMatch"}}' : "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>");
    else response.end(asJson ? json(principal) : xml(principal));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const bound = server.address();
  sts.url = `http://127.0.0.1:${typeof bound === "object" && bound ? bound.port : 0}`;
  sts.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return sts;
};
