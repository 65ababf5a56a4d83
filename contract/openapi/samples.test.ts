import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import type { JsonObject } from "#base/json.ts";
import { sampleRequest } from "./sample-request.ts";
import { codeSamples, curlSample } from "./samples.ts";

const secured: JsonObject = { security: [{ bearer: [] }] };
const json = (example: JsonObject): JsonObject => ({ requestBody: { content: { "application/json": { example } } } });

/** Runs the sample in a shell whose curl prints its arguments, one per line. */
const argumentsOf = (sample: string): string[] => {
  const script = `curl() { printf '%s\\n' "$@"; }\nGANTRY_SERVER=http://gantry GANTRY_TOKEN=token\n${sample}`;
  const { status, stdout, stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split("\n");
};

const samples: readonly (readonly [what: string, operation: JsonObject, verb: string, path: string, expected: readonly string[]])[] = [
  ["a read with a token", secured, "get", "/iam/v2/groups/{uid}", ["http://gantry/iam/v2/groups/UID", "--header", "Authorization: Bearer token"]],
  ["an open read", { security: [] }, "get", "/auth/v1/ok", ["http://gantry/auth/v1/ok"]],
  ["a read that accepts a token", { security: [{}, { bearer: [] }] }, "get", "/x", ["http://gantry/x", "--header", "Authorization: Bearer token"]],
  ["headers alone", { security: [] }, "head", "/x", ["--head", "http://gantry/x"]],
  [
    "required parameters of the query",
    {
      security: [],
      parameters: [
        { name: "repoUid", in: "query", required: true },
        { name: "skip", in: "query" },
      ],
    },
    "get",
    "/x",
    ["http://gantry/x?repoUid=REPO_UID"],
  ],
  [
    "a body with quotes",
    { ...secured, ...json({ name: `it's "quoted" $HOME` }) },
    "post",
    "/x/{parentUid}",
    [
      ...["--request", "POST", "http://gantry/x/PARENT_UID", "--header", "Authorization: Bearer token", "--header", "Content-Type: application/json"],
      ...["--data", JSON.stringify({ name: `it's "quoted" $HOME` })],
    ],
  ],
  [
    "a form",
    { security: [], requestBody: { content: { "application/x-www-form-urlencoded": { example: { grant_type: "refresh_token" } } } } },
    "post",
    "/oauth/token",
    ["--request", "POST", "http://gantry/oauth/token", "--data-urlencode", "grant_type=refresh_token"],
  ],
  [
    "a file",
    { security: [], requestBody: { content: { "application/octet-stream": {} } } },
    "put",
    "/x",
    ["--request", "PUT", "http://gantry/x", "--header", "Content-Type: application/octet-stream", "--data-binary", "@FILE"],
  ],
];

for (const [what, operation, verb, path, expected] of samples)
  test(`the curl sample of ${what} passes these arguments from a shell`, () => {
    assert.deepEqual(argumentsOf(curlSample(sampleRequest(operation, verb, path))), expected);
  });

test("an operation has a sample for each tool that has one", () => {
  const recorded = { commands: { "x.Y/Get": "gantry y get" }, client: { "x.Y/Get": "gantry.y.get()" } };
  assert.deepEqual(
    codeSamples(secured, "get", "/y", "x.Y/Get", recorded).map(({ label }) => label),
    ["curl", "gantry", "TypeScript", "Go", "Python"],
  );
  assert.deepEqual(
    codeSamples(secured, "get", "/z", undefined, recorded).map(({ label }) => label),
    ["curl", "Go", "Python"],
  );
});
