// Every request is recorded once, under its operation's own name and code, over every protocol. Paths beyond the contract have fixed names,
// and unknown paths share one.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codes } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { methods, version1 } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { newChild, newRoot } from "#base/uid.ts";
import { type Answer, callHttp, callOver, type Protocol } from "../client.ts";
import { distributionRequest } from "../distribution.ts";
import { connectMcp } from "../mcp-client.ts";
import { openOwners } from "../owner.ts";
import { openRequestLog } from "../request-log.ts";
import { nonEmpty, withValue } from "../samples.ts";
import { readScrape } from "../scrape.ts";
import { freePort } from "../free-port.ts";
import { openWorld } from "../world.ts";
import { isScim, protocolsOf } from "./stage.ts";

const requests = openRequestLog();
const metricsAt = `127.0.0.1:${await freePort()}`;
const owners = openOwners(await openWorld({ GANTRY_REQUEST_LOG: "true", GANTRY_METRICS_LISTEN: metricsAt }, requests.log));
const world = owners.world();
after(() => world.close());

const codeName = (number: number): string => Object.entries(codes).find(([, each]) => each === number)?.[0] ?? "OK";

/** Returns a request with path parameters that match no resource. */
const requestOf = ({ http, input, scope }: MethodFact): JsonObject => {
  let request: JsonObject = {};
  for (const [, name = ""] of (http[0]?.template ?? "").matchAll(/\{([^}=]+)/g)) {
    let within: typeof input | undefined = input;
    const path = name.split(".").map((each) => {
      const field = within?.byName.get(each);
      within = field?.message;
      return field?.json ?? each;
    });
    request = withValue(request, path, newRoot());
  }
  return scope ? withValue(request, scope, newRoot()) : request;
};

const ask = async (protocol: Protocol, method: MethodFact): Promise<Answer> => {
  const validateOnly = method.writes && !method.distribution && !method.open;
  const token = method.credentials ? undefined : await owners.token();
  return callOver(protocol, world.url, method.name, requestOf(method), { token, validateOnly });
};

const assertRecorded = async (answer: Answer, operation: string, protocol: string, code = codeName(answer.code)): Promise<void> => {
  const requestId = answer.headers["x-request-id"] ?? assert.fail(`${operation} over ${protocol}: no x-request-id`);
  const line = await requests.of(requestId);
  assert.deepEqual({ operation: line.operation, protocol: line.protocol, code: line.code, cut: line.cut }, { operation, protocol, code, cut: undefined });
};

const ordinary = nonEmpty(
  [...methods, ...version1].filter(({ distribution }) => !distribution),
  "operation",
);

test("each operation of both versions is recorded under its name over REST", async () => {
  for (const method of ordinary.filter(({ http }) => http.length > 0)) await assertRecorded(await ask("rest", method), method.name, "rest");
});

test("each operation of both versions is recorded under its name over gRPC", async () => {
  for (const method of ordinary.filter((each) => protocolsOf(each).includes("grpc") && !isScim(each)))
    await assertRecorded(await ask("grpc", method), method.name, "grpc");
});

test("each operation of the OCI Distribution protocol is recorded under its name", async () => {
  const authorization = `Basic ${Buffer.from(`_token:${await owners.token()}`).toString("base64")}`;
  for (const method of methods.filter(({ distribution }) => distribution)) {
    const names: JsonObject = { repo: "a/b", reference: "latest", tag: "latest", digest: `sha256:${"0".repeat(64)}`, upload: "0".repeat(32) };
    const { verb, path } = distributionRequest(method, names);
    const response = await fetch(`${world.url}${path}`, { method: verb, headers: { authorization } });
    await response.body?.cancel();
    const line = await requests.of(response.headers.get("x-request-id") ?? "");
    assert.deepEqual(
      { operation: line.operation, protocol: line.protocol, status: line.status },
      { operation: method.name, protocol: "oci", status: response.status },
    );
    assert.equal(line.code === "OK", response.status < 400, method.name);
  }
});

test("a tool call is recorded once, as its operation, with the code that the model receives", async () => {
  const before = requests.lines().length;
  const client = await connectMcp("2026-07-28", { url: `${world.url}/mcp`, headers: { authorization: `Bearer ${await owners.token()}` } });
  const listed = await client.callTool("iam_list_groups", {});
  const missing = await client.callTool("iam_get_group", { uid: newChild(world.organization) });
  await client.close();
  assert.deepEqual([listed.isError, missing.isError], [false, true]);
  // A later request is recorded after them.
  await requests.of((await callHttp(world.url, "GET", "/healthz")).headers["x-request-id"] ?? "");
  const told = requests
    .lines()
    .slice(before)
    .filter(({ protocol, operation }) => protocol === "mcp" && operation !== "mcp");
  assert.deepEqual(
    told.map(({ operation, code, status }) => ({ operation, code, status })),
    [
      { operation: "chainguard.platform.iam.v2.GroupsService/ListGroups", code: "OK", status: 200 },
      { operation: "chainguard.platform.iam.v2.GroupsService/GetGroup", code: "NOT_FOUND", status: 200 },
    ],
  );
});

test("paths beyond the contract have fixed names, and unknown paths share one", async () => {
  const asked: readonly (readonly [verb: string, path: string, operation: string, code: string])[] = [
    ["GET", "/healthz", "/healthz", "OK"],
    ["GET", "/readyz", "/readyz", "OK"],
    ["GET", "/.well-known/jwks.json", "/.well-known/jwks.json", "OK"],
    ["POST", "/oauth/token", "/oauth/token", "INVALID_ARGUMENT"],
    ["GET", "/docs", "docs", "OK"],
    ["GET", "/docs/guides/no-such-guide", "docs", "NOT_FOUND"],
    ["GET", "/openapi.json", "openapi", "OK"],
    ["GET", "/v2/token", "/v2/token", "OK"],
    ["GET", "/v2/a/b/c", "unknown", "UNAUTHENTICATED"],
    ["GET", "/mcp", "unknown", "UNIMPLEMENTED"],
    ["POST", "/mcp", "mcp", "UNAUTHENTICATED"],
    ["GET", "/iam/v2/nothing-of-this-name", "unknown", "NOT_FOUND"],
    ["PUT", "/iam/v2/groups", "unknown", "UNIMPLEMENTED"],
    ["GET", `/${"x".repeat(300)}`, "unknown", "NOT_FOUND"],
  ];
  for (const [verb, path, operation, code] of asked) {
    const response = await fetch(`${world.url}${path}`, { method: verb });
    await response.body?.cancel();
    const line = await requests.of(response.headers.get("x-request-id") ?? "");
    assert.deepEqual([path, line.operation, line.code, line.status], [path, operation, code, response.status]);
  }
});

test("no request is recorded twice", () => {
  const ids = requests.lines().map(({ requestId }) => requestId);
  assert.equal(new Set(ids).size, ids.length);
});

test("each recorded request is counted once: by operation and code, by protocol, its bytes, and its refusal reason", async () => {
  const families = readScrape(await (await fetch(`http://${metricsAt}/metrics`)).text());
  const countedAs = (metric: string, ending: string, ...labels: string[]): Record<string, number> =>
    Object.fromEntries(
      (families.get(metric)?.series ?? [])
        .filter(({ name, value }) => name === `${metric}${ending}` && value > 0)
        .map((series) => [labels.map((label) => series.labels[label]).join(" "), series.value] as const)
        .sort(),
    );
  const recorded = (keep: (line: Record<string, unknown>) => boolean, keyOf: (line: Record<string, unknown>) => unknown): Record<string, number> => {
    const counts = new Map<string, number>();
    for (const line of requests.lines().filter(keep)) counts.set(String(keyOf(line)), (counts.get(String(keyOf(line))) ?? 0) + 1);
    return Object.fromEntries([...counts].sort());
  };
  const all = (): boolean => true;
  assert.deepEqual(
    countedAs("gantry_request_seconds", "_count", "operation", "code"),
    recorded(all, ({ operation, code }) => `${String(operation)} ${String(code)}`),
  );
  assert.deepEqual(
    countedAs("gantry_requests_total", "", "protocol", "code"),
    recorded(all, ({ protocol, code }) => `${String(protocol)} ${String(code)}`),
  );
  for (const metric of ["gantry_request_bytes", "gantry_response_bytes"])
    assert.deepEqual(
      countedAs(metric, "_count", "protocol"),
      recorded(all, ({ protocol }) => protocol),
    );
  assert.deepEqual(
    countedAs("gantry_refusals_total", "", "reason", "quota"),
    recorded(
      ({ code }) => code !== "OK",
      ({ reason, code, quota }) => `${String(reason ?? code)} ${String(quota ?? "")}`,
    ),
  );
});
