// Variants oci-*: the registry compared with distribution (version 3 in bench/peers, or Debian's docker-registry 2.8 without Go), on the same disk,
// both cleartext on file systems, with the same images. Both sync a blob's file before they respond. Gantry also syncs the folder
// after the rename and records the pusher in its database.
//
// distribution runs without authentication; Gantry authorizes each request as usual. wrk loads manifests, blobs' headers and tag
// lists, curl pulls layers, and this process pushes them as docker does: POST, one PATCH, PUT. CPU time includes the database.

import { execFile } from "node:child_process";
import { createHash, type Hash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { cacheFolder } from "./anchor-clone.ts";
import { addOrganization } from "./callers.ts";
import { readTreeCpuMs } from "./cpu.ts";
import type { Environment, Variant } from "./environment.ts";
import { heads, wrk } from "./load.ts";
import { residentMb } from "./memory.ts";
import { type Process, startProgram } from "./processes.ts";
import { withClient } from "./seed.ts";

const runProgram = promisify(execFile);

const layerBytes = 100 * 1024 * 1024;
const largeBytes = 1024 * 1024 * 1024;
const tags = 10_000;

/** A registry with an image of 100 MiB under a tag, and a repository of 10,000 tags. */
interface Registry {
  readonly url: string;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Target of pushes, with the image. */
  readonly repo: string;
  readonly layer: string;
  /** A blob of 1 GiB. */
  readonly large: string;
  readonly manyTags: string;
}

const base = randomBytes(layerBytes);
const baseHash = createHash("sha256").update(base);

/** Unique content: the same 100 MiB with a different end. */
interface Content {
  readonly parts: readonly Buffer[];
  readonly sizeBytes: number;
  readonly digest: string;
}

const contentOf = (parts: readonly Buffer[], hash: Hash): Content => ({
  parts,
  sizeBytes: parts.reduce((sum, part) => sum + part.byteLength, 0),
  digest: `sha256:${hash.digest("hex")}`,
});

const newLayer = (): Content => {
  const end = randomBytes(16);
  return contentOf([base, end], baseHash.copy().update(end));
};

const smallContent = (bytes: Buffer): Content => contentOf([bytes], createHash("sha256").update(bytes));

const agent = new Agent({ keepAlive: true, maxSockets: 128 });

interface Answer {
  readonly status: number;
  readonly location: string;
}

const send = (url: string, method: string, headers: Readonly<Record<string, string>>, content?: Content): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = { "content-length": String(content?.sizeBytes ?? 0) };
    const type = content ? { "content-type": "application/octet-stream" } : {};
    const sent = request(url, { method, agent, headers: { ...type, ...length, ...headers } }, (answer) => {
      answer.resume().on("end", () => resolve({ status: answer.statusCode ?? 0, location: answer.headers.location ?? "" }));
    });
    sent.on("error", reject);
    for (const part of content?.parts ?? []) sent.write(part);
    sent.end();
  });

const expecting = async (status: number, url: string, method: string, headers: Readonly<Record<string, string>>, content?: Content): Promise<string> => {
  const answer = await send(url, method, headers, content);
  if (answer.status !== status) throw new Error(`${method} ${url}: ${answer.status}`);
  return answer.location;
};

const pushBlob = async ({ url, headers, repo }: Target, content: Content): Promise<void> => {
  const at = (location: string): string => new URL(location, url).href;
  const begun = await expecting(202, `${url}/v2/${repo}/blobs/uploads/`, "POST", headers);
  const sent = at(await expecting(202, at(begun), "PATCH", headers, content));
  await expecting(201, `${sent}${sent.includes("?") ? "&" : "?"}digest=${content.digest}`, "PUT", headers);
};

const manifestType = "application/vnd.oci.image.manifest.v1+json";

type Target = Pick<Registry, "url" | "headers" | "repo">;

const config = smallContent(Buffer.from('{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}'));

const manifestOf = (layers: readonly Content[]): Content => {
  const described = ({ digest, sizeBytes }: Content) => ({ digest, size: sizeBytes });
  return smallContent(
    Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: { mediaType: "application/vnd.oci.image.config.v1+json", ...described(config) },
        layers: layers.map((layer) => ({ mediaType: "application/vnd.oci.image.layer.v1.tar", ...described(layer) })),
      }),
    ),
  );
};

const putManifest = async ({ url, headers, repo }: Target, tag: string, manifest: Content): Promise<string> => {
  await expecting(201, `${url}/v2/${repo}/manifests/${tag}`, "PUT", { ...headers, "content-type": manifestType }, manifest);
  return manifest.digest;
};

const pushImage = async (registry: Target, tag: string, layers: readonly Content[]): Promise<string> => {
  for (const each of [config, ...layers]) await pushBlob(registry, each);
  return putManifest(registry, tag, manifestOf(layers));
};

const tagName = (number: number): string => `v1.0.${String(number).padStart(5, "0")}`;

const largeContent = (): Content => {
  const parts = Array.from({ length: Math.floor(largeBytes / layerBytes) }, () => base);
  parts.push(base.subarray(0, largeBytes % layerBytes));
  return contentOf(
    parts,
    parts.reduce((hash, each) => hash.update(each), createHash("sha256")),
  );
};

/** Pushes an image of 100 MiB and one of 1 GiB, and one with the first of many tags. Returns their digests. */
const fill = async (registry: Target, manyTags: string): Promise<{ readonly layer: string; readonly large: string; readonly tagged: string }> => {
  const [layer, large] = [newLayer(), largeContent()];
  await pushImage(registry, "latest", [layer]);
  await pushImage(registry, "large", [large]);
  const tagged = await pushImage({ ...registry, repo: manyTags }, tagName(0), [smallContent(randomBytes(100))]);
  return { layer: layer.digest, large: large.digest, tagged };
};

const openOurs = async (environment: Environment): Promise<Registry> => {
  const { process, application, database } = environment.fixture();
  const { uid, authorization } = await addOrganization(application, "bench-registry", "owner");
  const registry = {
    url: process.url,
    pid: process.pid,
    headers: { authorization },
    repo: "bench-registry/app",
    manyTags: "bench-registry/tags",
  };
  const { tagged: digest, ...content } = await fill(registry, registry.manyTags);
  await withClient(database, async (client) => {
    await client.query(
      `insert into tags (uid, name, digest, create_time, update_time)
       select repo.uid || '/' || lpad(to_hex(number), 16, '0'), 'v1.0.' || lpad(number::text, 5, '0'), $2, now(), now()
       from repos as repo, generate_series(1, $3::int) as number where repo.name = 'tags' and starts_with(repo.uid, $1)`,
      [uid, digest, tags - 1],
    );
    await client.query("analyze tags");
  });
  return { ...registry, ...content };
};

/** Returns the program: distribution 3, built once, or Debian's package without Go. */
const findDistribution = async (): Promise<string> => {
  const program = join(cacheFolder(), "distribution");
  try {
    await mkdir(cacheFolder(), { recursive: true, mode: 0o755 });
    await runProgram("go", ["build", "-o", program, "."], { cwd: join(import.meta.dirname, "peers", "distribution") });
    return program;
  } catch (thrown) {
    process.stderr.write(`distribution cannot be built, so docker-registry is measured: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    return "docker-registry";
  }
};

const startDistribution = async ({ folder }: Environment): Promise<{ readonly process: Process; readonly root: string }> => {
  const { url, port, data } = await folder.site("distribution");
  const settings = await folder.write(
    "distribution.yml",
    `version: 0.1
log: { level: error, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: ${data} }, maintenance: { uploadpurging: { enabled: false } } }
http: { addr: "127.0.0.1:${port}" }
`,
  );
  const program = await findDistribution();
  // Without an exporter for traces, version 3 logs a failure every few seconds.
  const started = await startProgram(program, ["serve", settings], `${url}/v2/`, { OTEL_TRACES_EXPORTER: "none" });
  return { process: started, root: data };
};

const openTheirs = async (environment: Environment): Promise<Registry> => {
  const { process, root } = await startDistribution(environment);
  environment.stopLater(process);
  const registry = {
    url: process.url,
    pid: process.pid,
    headers: {},
    repo: "bench-registry/app",
    manyTags: "bench-registry/tags",
  };
  const { tagged: digest, ...content } = await fill(registry, registry.manyTags);
  // As a push leaves them.
  const folder = join(root, "docker/registry/v2/repositories", registry.manyTags, "_manifests/tags");
  for (let number = 1; number < tags; number++) {
    const tag = join(folder, tagName(number));
    await mkdir(join(tag, "current"), { recursive: true });
    await writeFile(join(tag, "current/link"), digest);
  }
  return { ...registry, ...content };
};

const opened = new Map<typeof openOurs, Promise<Registry>>();

const openOnce = (open: typeof openOurs, environment: Environment): Promise<Registry> => {
  const found = opened.get(open) ?? open(environment);
  opened.set(open, found);
  return found;
};

type Load = (registry: Registry, seconds: number) => Promise<number>;

const pullManifests: Load = ({ url, repo, headers }, seconds) => wrk(`${url}/v2/${repo}/manifests/latest`, { ...headers, accept: manifestType }, seconds);

const headManifests: Load = ({ url, repo, headers }, seconds) => heads(`${url}/v2/${repo}/manifests/latest`, { ...headers, accept: manifestType }, seconds);

const headBlobs: Load = ({ url, repo, headers, layer }, seconds) => heads(`${url}/v2/${repo}/blobs/${layer}`, headers, seconds);

const listTags: Load = ({ url, manyTags, headers }, seconds) => wrk(`${url}/v2/${manyTags}/tags/list?n=${tags}`, headers, seconds);

const rateOf = async (seconds: number, batch: () => Promise<number>): Promise<number> => {
  let [count, takenMs] = [0, 0];
  while (takenMs < seconds * 1000) {
    const beganMs = performance.now();
    count += await batch();
    takenMs += performance.now() - beganMs;
  }
  return (count * 1000) / takenMs;
};

const curl = async ({ url, repo, headers }: Target, digest: string, count: number, atOnce: number): Promise<void> => {
  const given = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const urls = Array.from({ length: count }, () => ["-o", "/dev/null", `${url}/v2/${repo}/blobs/${digest}`]);
  await runProgram("curl", ["-sSf", ...(atOnce > 1 ? ["-Z", "--parallel-immediate", "--parallel-max", String(atOnce)] : []), ...given, ...urls.flat()]);
};

const pullLayers =
  (atOnce: number): Load =>
  (registry, seconds) => {
    // Several per process, so that its start matters little.
    const count = Math.max(4, atOnce);
    return rateOf(seconds, async () => {
      await curl(registry, registry.layer, count, atOnce);
      return count;
    });
  };

/** MiB per second. */
const pullLarge: Load = (registry, seconds) =>
  rateOf(seconds, async () => {
    await curl(registry, registry.large, 1, 1);
    return largeBytes / (1024 * 1024);
  });

const pushLayers =
  (atOnce: number): Load =>
  async (registry, seconds) => {
    let [count, takenMs] = [0, 0];
    while (takenMs < seconds * 1000) {
      const layers = Array.from({ length: atOnce }, newLayer);
      const beganMs = performance.now();
      await Promise.all(layers.map((layer) => pushBlob(registry, layer)));
      takenMs += performance.now() - beganMs;
      count += atOnce;
    }
    return (count * 1000) / takenMs;
  };

const pairOf = (name: string, label: string, load: Load, unit: Variant["unit"] = "1/s"): Record<string, Variant> => {
  const variant = (who: string, open: typeof openOurs): Variant => ({
    label: `${who}, ${label}`,
    unit,
    async prepare(environment) {
      const registry = await openOnce(open, environment);
      return (seconds) => load(registry, seconds);
    },
  });
  return { [name]: variant("gantry", openOurs), [`${name}Docker`]: variant("distribution", openTheirs) };
};

/** The CPU milliseconds of the server and its database for one piece of work; after a while, so that what it does later counts. */
const cpuOf =
  (work: (registry: Registry) => Promise<void>): Load =>
  async (registry) => {
    const before = await readTreeCpuMs(registry.pid);
    await work(registry);
    await sleep(settledMs);
    return (await readTreeCpuMs(registry.pid)) - before;
  };

const settledMs = 1500;
const smallBytes = 10_000;
const smallCount = 200;

const pushLarge = (registry: Registry): Promise<void> => {
  const end = randomBytes(16);
  return pushBlob(registry, contentOf([base, base, end], baseHash.copy().update(base).update(end)));
};

/**
 * As a client does: it asks for each layer before it sends it. Without a manifest, because Gantry then reads the packages in the
 * layers, which distribution does not.
 */
const pushSmallLayers = async (registry: Registry): Promise<void> => {
  for (let pushed = 0; pushed < smallCount; pushed++) {
    const layer = smallContent(randomBytes(smallBytes));
    await expecting(404, `${registry.url}/v2/${registry.repo}/blobs/${layer.digest}`, "HEAD", registry.headers);
    await pushBlob(registry, layer);
  }
};

let tagsPushed = 0;

const pushTags = async (registry: Registry): Promise<void> => {
  const layer = smallContent(randomBytes(smallBytes));
  await pushBlob(registry, layer);
  const manifest = manifestOf([layer]);
  for (let pushed = 0; pushed < smallCount; pushed++) await putManifest(registry, `pushed-${++tagsPushed}`, manifest);
};

const manyLayers = 100;
const partBytes = 10 * 1024 * 1024;
const largeParts = 10;

const part = randomBytes(partBytes);
const partHash = createHash("sha256").update(part);

const pullBlob = ({ url, headers, repo }: Target, { digest, sizeBytes }: Content): Promise<void> =>
  new Promise((resolve, reject) => {
    request(`${url}/v2/${repo}/blobs/${digest}`, { agent, headers }, (answer) => {
      let received = 0;
      answer.on("data", (piece: Buffer) => (received += piece.byteLength));
      answer.on("end", () => (received === sizeBytes ? resolve() : reject(new Error(`${received} bytes of ${sizeBytes}: ${answer.statusCode}`))));
    })
      .on("error", reject)
      .end();
  });

const growthOf = async (pid: number, work: () => Promise<void>): Promise<number> => {
  const before = await residentMb(pid);
  let highest = before;
  const timer = setInterval(() => void residentMb(pid).then((mb) => (highest = Math.max(highest, mb))), 10);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return highest - before;
};

const layersMemory: Variant = {
  label: "gantry, more resident while 1 GiB, and 100 times 10 MiB at once, go in and out",
  unit: "MB",
  async prepare(environment) {
    const { fixture } = environment;
    const registry = await openOnce(openOurs, environment);
    return () =>
      growthOf(fixture().process.pid, async () => {
        const large = contentOf(
          Array.from({ length: largeParts }, () => base),
          Array.from({ length: largeParts }, () => base).reduce((hash, each) => hash.update(each), createHash("sha256")),
        );
        await pushBlob(registry, large);
        await pullBlob(registry, large);
        const many = Array.from({ length: manyLayers }, () => {
          const end = randomBytes(16);
          return contentOf([part, end], partHash.copy().update(end));
        });
        await Promise.all(many.map((each) => pushBlob(registry, each)));
        await Promise.all(many.map((each) => pullBlob(registry, each)));
      });
  },
};

export const registryVariants: Readonly<Record<string, Variant>> = {
  ...pairOf("ociManifests", "manifests by tag", pullManifests),
  ...pairOf("ociPull", "layers of 100 MiB pulled, one at a time", pullLayers(1)),
  ...pairOf("ociPull8", "layers of 100 MiB pulled, 8 at once", pullLayers(8)),
  ...pairOf("ociPush", "layers of 100 MiB pushed, one at a time", pushLayers(1)),
  ...pairOf("ociPush8", "layers of 100 MiB pushed, 8 at once", pushLayers(8)),
  ...pairOf("ociTags", "lists of 10,000 tags", listTags),
  ...pairOf("ociManifestHeads", "headers of manifests by tag", headManifests),
  ...pairOf("ociBlobHeads", "headers of blobs", headBlobs),
  ...pairOf("ociPullLarge", "MiB a second of a layer of 1 GiB", pullLarge),
  ...pairOf("ociPushCpu", "CPU of a push of 200 MiB", cpuOf(pushLarge), "ms"),
  ...pairOf("ociLayersCpu", "CPU of 200 small layers", cpuOf(pushSmallLayers), "ms"),
  ...pairOf("ociPushTagsCpu", "CPU of 200 tags", cpuOf(pushTags), "ms"),
  ociMemory: layersMemory,
};
