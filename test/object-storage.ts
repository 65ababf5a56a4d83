// An S3 server for tests in its own process: versitygw, which supports everything the project uses and verifies signatures and
// checksums as S3 does. It needs Go and is built once, in a minute. Those on npm reject current signatures or cannot list open
// uploads.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePort } from "./free-port.ts";

export interface ObjectStorage {
  /** Returns GANTRY_BLOBS for a prefix in its bucket. */
  settingOf(prefix: string): string;
  /** Freezes it: requests are neither refused nor answered. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

const cache = join(import.meta.dirname, "../node_modules/.cache/s3");
const program = join(cache, "versitygw");
const module = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const keys = { accessKeyId: "tester", secretAccessKey: "tester-secret" };

/** Returns why it is unavailable, or false. */
export const objectStorageMissing = (): string | false => {
  if (existsSync(program)) return false;
  const built = spawnSync("go", ["install", module], { env: { ...process.env, GOBIN: cache }, timeout: 300_000 });
  if (built.status === 0) return false;
  const why = "NOT TESTED: blobs in S3. The S3 server of the tests (versitygw) needs Go and its modules, and they are not here";
  process.stderr.write(`${why}\n`);
  return why;
};

const reached = async (url: string, child: ChildProcess): Promise<void> => {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}`);
    if (
      await fetch(url).then(
        ({ body }) => body?.cancel().then(() => true),
        () => false,
      )
    )
      return;
    await sleep(20);
  }
};

/** Starts it with an empty bucket, and sets the keys in this process. */
export const startObjectStorage = async (): Promise<ObjectStorage> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-s3-"));
  await mkdir(join(folder, "objects"));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(program, ["--port", `127.0.0.1:${port}`, "--quiet", "posix", join(folder, "objects")], {
    stdio: "ignore",
    env: { ...process.env, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey },
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await reached(endpoint, child);
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey });
  const client = new S3Client({ region: "us-east-1", endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "blobs" }));
  client.destroy();
  return {
    settingOf: (prefix) => `s3://blobs/${prefix}?endpoint=${endpoint}`,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    async stop() {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};
