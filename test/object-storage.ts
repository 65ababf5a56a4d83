// S3 servers of others for tests, as real processes of their own: s3rver comes with npm and is always there; versitygw, which
// does all that the project asks of S3 and checks signatures and sums as S3 does, needs Go, and is built once.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { shortOrLong } from "./length.ts";
import { freePort } from "./world.ts";

export interface ObjectStorage {
  readonly endpoint: string;
  readonly bucket: string;
  /** What a program needs in its environment to use it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface ObjectStorageProgram {
  readonly name: string;
  /** Why it is not here; false where it is. */
  readonly missing: string | false;
  /** It says what uploads are open, replaces nothing where it is told so, and refuses a body that differs from its sum. */
  readonly isComplete: boolean;
  start(): Promise<ObjectStorage>;
}

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules/.cache/s3");
const versitygw = join(cache, "versitygw");
const versitygwModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

// s3rver knows this pair alone.
const keys = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const environment = { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey };

const missingVersitygw = (): string | false => {
  if (existsSync(versitygw)) return false;
  // Building it takes a minute of two processors.
  if (shortOrLong(true, false)) return "versitygw is not built: the long form of the tests builds it where there is Go";
  const built = spawnSync("go", ["install", versitygwModule], { env: { ...process.env, GOBIN: cache }, timeout: 300_000 });
  return built.status === 0 ? false : "versitygw cannot be built: that needs Go and its modules";
};

const reached = async (url: string, child: ChildProcess): Promise<void> => {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}`);
    try {
      await fetch(url);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
};

const startProgram = async (program: string, argumentsOf: (folder: string, port: number) => readonly string[]): Promise<ObjectStorage> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-s3-"));
  await mkdir(join(folder, "objects"));
  const port = await freePort();
  const child = spawn(program, argumentsOf(join(folder, "objects"), port), {
    stdio: "ignore",
    env: { ...process.env, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey },
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const endpoint = `http://127.0.0.1:${port}`;
  await reached(endpoint, child);
  const client = new S3Client({ region: "us-east-1", endpoint, forcePathStyle: true, credentials: keys });
  await client.send(new CreateBucketCommand({ Bucket: "blobs" }));
  client.destroy();
  return {
    endpoint,
    bucket: "blobs",
    environment,
    async stop() {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

export const objectStoragePrograms: readonly ObjectStorageProgram[] = [
  {
    name: "s3rver",
    missing: false,
    isComplete: false,
    start: () =>
      // Its package lacks the program that it names.
      startProgram(process.execPath, (folder, port) => [
        "--eval",
        `require(${JSON.stringify(join(root, "node_modules/@20minutes/s3rver/lib/cli.js"))}).parseAsync(["", "", ...process.argv.slice(1)])`,
        ...["--", "--directory", folder, "--address", "127.0.0.1", "--port", String(port), "--silent"],
      ]),
  },
  {
    name: "versitygw",
    missing: missingVersitygw(),
    isComplete: true,
    start: () => startProgram(versitygw, (folder, port) => ["--port", `127.0.0.1:${port}`, "--quiet", "posix", folder]),
  },
];
