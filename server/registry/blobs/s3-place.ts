// Blob storage in S3. An upload is a multipart upload to the final object, so nothing is ever moved. Bytes too few for a part are in
// a separate object, the rest. Parts are spooled to a temporary file, so that slow clients hold neither memory nor a connection, and
// requests can be retried.

import { createHash } from "node:crypto";
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { Fault } from "#base/fault.ts";
import { tracePart } from "#calls";
import { type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import {
  type BlobPlace,
  contentLost,
  emptyPlace,
  isBlobKey,
  judgeMark,
  makeMark,
  markName,
  occupiedPlace,
  placeFull,
  placeUnreachable,
  readMark,
  requireBlobKey,
  type UploadPoint,
} from "./place.ts";

export interface S3PlaceOptions {
  readonly bucket: string;
  /** "", or a text that ends in "/". */
  readonly prefix: string;
  readonly region: string;
  /** undefined: Amazon's endpoint of the region. */
  readonly endpoint: string | undefined;
  /** Endpoint for redirected clients; undefined: the server's. */
  readonly redirectEndpoint: string | undefined;
  /** https://host/bucket instead of https://bucket.host. */
  readonly pathStyle: boolean;
  /** Allow redirecting pulls to the storage. */
  readonly redirects: boolean;
  /** Returns a signal that aborts when the storage has failed. */
  readonly failure?: (() => AbortSignal) | undefined;
  /** For tests: minimum size of a part. */
  readonly partBytes?: number;
}

interface UploadState {
  /** S3's ID of the multipart upload; "" before the first part. */
  readonly upload: string;
  readonly parts: readonly string[];
  /** Bytes after the parts, in the rest object of this upload size. */
  readonly restBytes: number;
  /** Earlier rest object, obsolete once this state is recorded. */
  readonly staleRest: string;
}

const isText = (value: Json): value is string => typeof value === "string";

const readState = (state: JsonObject): UploadState => ({
  upload: text(state, "upload"),
  parts: Array.isArray(state.parts) ? state.parts.filter(isText) : [],
  restBytes: typeof state.restBytes === "number" ? state.restBytes : 0,
  staleRest: text(state, "staleRest"),
});

const writeState = ({ upload, parts, restBytes, staleRest }: UploadState): JsonObject => ({ upload, parts: [...parts], restBytes, staleRest });

const statusOf = (thrown: unknown): number | undefined => (thrown instanceof S3ServiceException ? thrown.$metadata.httpStatusCode : undefined);

const isObjectAbsent = (thrown: unknown): boolean =>
  thrown instanceof S3ServiceException && (statusOf(thrown) === 404 || thrown.name === "NoSuchKey" || thrown.name === "NoSuchUpload");

const isBucketAbsent = (thrown: unknown): boolean => thrown instanceof S3ServiceException && thrown.name === "NoSuchBucket";

const faultOf = (thrown: unknown): unknown => {
  if (thrown instanceof Fault) return thrown;
  return statusOf(thrown) === 507 ? placeFull(thrown) : placeUnreachable(thrown);
};

const translated = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    throw faultOf(thrown);
  }
};

const unlessAbsent = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found;
  } catch (thrown) {
    if (isObjectAbsent(thrown) && !isBucketAbsent(thrown)) return undefined;
    throw thrown;
  }
};

class ContentFailed extends Error {}

/** An unnamed temporary file, written once and read for each retry. */
interface Spool {
  readonly sizeBytes: number;
  add(piece: Uint8Array): Promise<void>;
  /** The MD5 in base64 is verified by every S3 implementation. */
  content(): { readonly body: () => Readable; readonly md5: string; readonly sizeBytes: number };
  clear(): void;
  close(): Promise<void>;
}

const openSpool = async (): Promise<Spool> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-blob-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "part"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  let hash = createHash("md5");
  let sizeBytes = 0;
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    async add(piece) {
      hash.update(piece);
      for (let at = 0; at < piece.byteLength; ) {
        const { bytesWritten } = await file.write(piece, at, piece.byteLength - at, sizeBytes);
        at += bytesWritten;
        sizeBytes += bytesWritten;
      }
    },
    content() {
      const length = sizeBytes;
      // The file's own stream would close the file.
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < length; ) {
          const bytes = Buffer.allocUnsafe(Math.min(limits.blobReadBytes, length - at));
          const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, at);
          if (bytesRead === 0) throw new Error("the temporary file is shorter than what was written");
          at += bytesRead;
          yield bytes.subarray(0, bytesRead);
        }
      };
      return { body: () => Readable.from(pieces(), { objectMode: false }), md5: hash.copy().digest("base64"), sizeBytes: length };
    },
    clear() {
      hash = createHash("md5");
      sizeBytes = 0;
    },
    close: () => file.close(),
  };
};

/** Traces kind and host only. */
const traceRequests = (client: S3Client): S3Client => {
  client.middlewareStack.add(
    (send, { commandName = "request" }) =>
      async (given) => {
        const fromMs = performance.now();
        const { request } = given;
        const host = request instanceof Object && "hostname" in request ? String(request.hostname) : "";
        const name = `storage ${commandName.replace(/Command$/, "")}`;
        const tell = (status: number | undefined, failed?: string): void =>
          tracePart(name, fromMs, { "server.address": host, ...(status === undefined ? {} : { "http.response.status_code": status }) }, failed);
        try {
          const answer = await send(given);
          tell(answer.output?.$metadata.httpStatusCode);
          return answer;
        } catch (thrown) {
          const status = statusOf(thrown);
          // Absence is a normal response.
          tell(status, status === undefined ? "unreachable" : status >= 500 ? "refused" : undefined);
          throw thrown;
        }
      },
    { name: "traceRequests", step: "deserialize", priority: "high" },
  );
  return client;
};

interface Agents {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
}

const openAgents = (): Agents => {
  const agent = { keepAlive: true, maxSockets: limits.s3ConnectionsMax };
  return { httpAgent: new HttpAgent(agent), httpsAgent: new HttpsAgent(agent) };
};

const closeIdle = ({ httpAgent, httpsAgent }: Agents): void => {
  for (const { freeSockets } of [httpAgent, httpsAgent])
    for (const sockets of Object.values(freeSockets)) for (const socket of [...(sockets ?? [])]) socket.destroy();
};

const clientOf = (options: S3PlaceOptions, endpoint: string | undefined, agents: Agents): S3Client =>
  traceRequests(
    new S3Client({
      region: options.region,
      ...(endpoint === undefined ? {} : { endpoint }),
      forcePathStyle: options.pathStyle,
      maxAttempts: limits.s3TriesMax,
      // Bodies carry their MD5; many S3 implementations support no other checksum.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      // Only the operator decides the endpoint.
      followRegionRedirects: false,
      // It would write to the console; failures are thrown and logged by the caller.
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      requestHandler: {
        connectionTimeout: limits.s3ConnectMs,
        socketTimeout: limits.s3IdleMs,
        requestTimeout: 0,
        ...agents,
      },
    }),
  );

/** Opens the storage; sends no request before it is claimed. */
export const openS3Place = (options: S3PlaceOptions): BlobPlace => {
  const { bucket: Bucket, prefix, partBytes = limits.s3PartBytes } = options;
  const { signal: noFailure } = new AbortController();
  const currentFailure = options.failure ?? (() => noFailure);
  const where = `s3://${Bucket}/${prefix}`;
  const agents = openAgents();
  const client = clientOf(options, options.endpoint, agents);
  // The probe must not wait behind requests, so it has its own connections.
  const probing = clientOf(options, options.endpoint, openAgents());
  const signing = options.redirectEndpoint === undefined ? client : clientOf(options, options.redirectEndpoint, agents);
  const objectName = (key: string): string => `${prefix}content/${requireBlobKey(key)}`;
  const restsPrefix = (key: string): string => `${prefix}uploads/${requireBlobKey(key)}/`;
  const restName = (key: string, sizeBytes: number): string => `${restsPrefix(key)}${sizeBytes}`;

  let lastFailure = currentFailure();
  /** Refuses a request to a failed storage, and aborts it if the storage fails before it responds. A response that has begun may go on. */
  const send = async <Answer>(request: (options: { readonly abortSignal: AbortSignal }) => Promise<Answer>): Promise<Answer> => {
    const failure = currentFailure();
    if (failure.aborted) throw placeUnreachable(new Error("the storage has failed"));
    // After a failure, a connection that was idle meanwhile may be dead.
    if (failure !== lastFailure) closeIdle(agents);
    lastFailure = failure;
    const abort = new AbortController();
    const cut = (): void => abort.abort();
    failure.addEventListener("abort", cut, { once: true });
    try {
      return await request({ abortSignal: abort.signal });
    } finally {
      failure.removeEventListener("abort", cut);
    }
  };

  /** The SDK does not retry streams. */
  const sendSpool = async <Answer>(spool: Spool, attempt: (body: Readable, sizeBytes: number, md5: string) => Promise<Answer>): Promise<Answer> => {
    const { body, sizeBytes, md5 } = spool.content();
    for (let tries = 1; ; tries++) {
      const stream = body();
      try {
        return await attempt(stream, sizeBytes, md5);
      } catch (thrown) {
        if (thrown instanceof Fault) throw thrown;
        const status = statusOf(thrown);
        // Other refusals are permanent.
        if (tries >= limits.s3TriesMax || (status !== undefined && status < 500 && status !== 408 && status !== 429)) throw thrown;
      } finally {
        stream.destroy();
      }
    }
  };

  const putObject = (Key: string, spool: Spool): Promise<unknown> =>
    sendSpool(spool, (Body, ContentLength, ContentMD5) =>
      send((each) => client.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength, ContentMD5, ContentType: "application/octet-stream" }), each)),
    );

  const uploadPart = (key: string, UploadId: string, PartNumber: number, spool: Spool): Promise<string> =>
    sendSpool(spool, async (Body, ContentLength, ContentMD5) => {
      const part = { Bucket, Key: objectName(key), UploadId, PartNumber, Body, ContentLength, ContentMD5 };
      const { ETag } = await send((each) => client.send(new UploadPartCommand(part), each));
      if (ETag === undefined) throw new Error("a part without an ETag");
      return ETag;
    });

  const deleteObject = (Key: string): Promise<unknown> => unlessAbsent(send((each) => client.send(new DeleteObjectCommand({ Bucket, Key }), each)));

  const sizeOfObject = async (Key: string): Promise<number | undefined> =>
    (await unlessAbsent(send((each) => client.send(new HeadObjectCommand({ Bucket, Key }), each))))?.ContentLength;

  const readObject = async (Key: string, range?: string): Promise<{ body: Readable; sizeBytes: number } | undefined> => {
    const wanted = { Bucket, Key, ...(range === undefined ? {} : { Range: range }) };
    const found = await unlessAbsent(send((each) => client.send(new GetObjectCommand(wanted), each)));
    if (found === undefined) return undefined;
    if (!(found.Body instanceof Readable)) throw new Error("an answer without a body");
    return { body: found.Body, sizeBytes: found.ContentLength ?? 0 };
  };

  const partsOf = (startBytes: number): number => Math.max(partBytes, Math.ceil(startBytes / limits.s3PartGrowth));
  const isPart = (startBytes: number, bytes: number): boolean =>
    bytes >= Math.max(Math.min(partBytes, limits.s3PartBytesMin), Math.ceil(startBytes / limits.s3RestGrowth));

  const fillFromRest = async (key: string, at: UploadPoint, restBytes: number, spool: Spool): Promise<void> => {
    if (restBytes === 0) return;
    const rest = await readObject(restName(key, at.sizeBytes));
    if (rest === undefined) throw contentLost(key, "no rest");
    for await (const piece of rest.body) await spool.add(piece);
    if (spool.sizeBytes !== restBytes) throw contentLost(key, `a rest of ${spool.sizeBytes} bytes, not ${restBytes}`);
  };

  const addPart = async (key: string, state: UploadState, spool: Spool): Promise<UploadState> => {
    const created =
      state.upload === ""
        ? await send((each) => client.send(new CreateMultipartUploadCommand({ Bucket, Key: objectName(key), ContentType: "application/octet-stream" }), each))
        : undefined;
    const upload = created === undefined ? state.upload : created.UploadId;
    if (upload === undefined) throw new Error("a multipart upload without an id");
    const etag = await uploadPart(key, upload, state.parts.length + 1, spool);
    spool.clear();
    return { ...state, upload, parts: [...state.parts, etag] };
  };

  const appendContent = async (
    key: string,
    at: UploadPoint,
    first: Uint8Array,
    rest: AsyncIterator<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<UploadPoint> => {
    const before = readState(at.state);
    const spool = await openSpool();
    try {
      await fillFromRest(key, at, before.restBytes, spool);
      let state = before;
      let sizeBytes = at.sizeBytes;
      for (let next: IteratorResult<Uint8Array> = { value: first, done: false }; next.done !== true; ) {
        signal?.throwIfAborted();
        let piece = next.value;
        while (piece.byteLength > 0) {
          const startBytes = sizeBytes - spool.sizeBytes;
          const spare = partsOf(startBytes) - spool.sizeBytes;
          const taken = piece.subarray(0, Math.max(1, spare));
          await spool.add(taken);
          sizeBytes += taken.byteLength;
          piece = piece.subarray(taken.byteLength);
          if (spool.sizeBytes >= partsOf(startBytes)) state = await addPart(key, state, spool);
        }
        next = await rest.next().catch((cause: unknown) => {
          throw new ContentFailed("", { cause });
        });
      }
      if (spool.sizeBytes > 0 && isPart(sizeBytes - spool.sizeBytes, spool.sizeBytes)) state = await addPart(key, state, spool);
      const restBytes = spool.sizeBytes;
      if (restBytes > 0) await putObject(restName(key, sizeBytes), spool);
      // The previous rest stays until this state is surely recorded; the next append deletes it.
      if (before.staleRest !== "") await deleteObject(before.staleRest);
      return { sizeBytes, state: writeState({ ...state, restBytes, staleRest: before.restBytes > 0 ? restName(key, at.sizeBytes) : "" }) };
    } finally {
      await spool.close();
    }
  };

  const append: BlobPlace["append"] = async (key, at, content, signal) => {
    const source = content[Symbol.asyncIterator]();
    try {
      let first = await source.next().catch((cause: unknown) => {
        throw new ContentFailed("", { cause });
      });
      while (first.done !== true && first.value.byteLength === 0) first = await source.next();
      if (first.done === true) return at;
      return await appendContent(key, at, first.value, source, signal);
    } catch (thrown) {
      await source.return?.().catch(() => {});
      if (thrown instanceof ContentFailed) throw thrown.cause;
      if (signal?.aborted) throw thrown;
      if (isObjectAbsent(thrown)) throw contentLost(key, "no multipart upload");
      throw faultOf(thrown);
    }
  };

  /** The rest is all of it, or it is empty. */
  const completeSmall = async (key: string, at: UploadPoint, restBytes: number): Promise<void> => {
    if (restBytes > 0) {
      const rest = encodeURIComponent(`${Bucket}/${restName(key, at.sizeBytes)}`);
      await send((each) => client.send(new CopyObjectCommand({ Bucket, Key: objectName(key), CopySource: rest }), each));
      return;
    }
    const spool = await openSpool();
    try {
      await putObject(objectName(key), spool);
    } finally {
      await spool.close();
    }
  };

  const completeParts = async (key: string, at: UploadPoint, before: UploadState): Promise<void> => {
    let state = before;
    if (before.restBytes > 0) {
      const spool = await openSpool();
      try {
        await fillFromRest(key, at, before.restBytes, spool);
        state = await addPart(key, state, spool);
      } finally {
        await spool.close();
      }
    }
    const Parts = state.parts.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    const whole = { Bucket, Key: objectName(key), UploadId: state.upload, MultipartUpload: { Parts } };
    await send((each) => client.send(new CompleteMultipartUploadCommand(whole), each));
  };

  const complete = async (key: string, at: UploadPoint): Promise<void> => {
    const state = readState(at.state);
    try {
      if (state.parts.length === 0) await completeSmall(key, at, state.restBytes);
      else await completeParts(key, at, state);
    } catch (thrown) {
      // Possibly completed before, with its rest removed: the size check decides.
      if (!isObjectAbsent(thrown) && !(thrown instanceof Fault && thrown.code === "DATA_LOSS")) throw thrown;
    }
    // Some S3 implementations have confirmed incomplete objects.
    const found = await sizeOfObject(objectName(key));
    if (found !== at.sizeBytes) throw contentLost(key, `${found ?? "no"} bytes of ${at.sizeBytes}`);
    if (state.restBytes > 0) await deleteObject(restName(key, at.sizeBytes));
    if (state.staleRest !== "") await deleteObject(state.staleRest);
  };

  const read: BlobPlace["read"] = async (key, range) => {
    // S3 cannot request an empty range.
    if (range !== undefined && range.startBytes === range.endBytes) return (await sizeOfObject(objectName(key))) === undefined ? undefined : Readable.from([]);
    const found = await readObject(objectName(key), range && `bytes=${range.startBytes}-${range.endBytes - 1}`);
    if (found === undefined) return undefined;
    const wantedBytes = range === undefined ? found.sizeBytes : range.endBytes - range.startBytes;
    if (found.sizeBytes !== wantedBytes) {
      found.body.destroy();
      throw contentLost(key, `${found.sizeBytes} bytes, where ${wantedBytes} were asked for`);
    }
    return found.body;
  };

  const listPages = async function* (Prefix: string) {
    let page: { ContinuationToken?: string } | undefined = {};
    while (page !== undefined) {
      const wanted: ListObjectsV2CommandInput = { Bucket, Prefix, ...page };
      const found: ListObjectsV2CommandOutput = await send((each) => client.send(new ListObjectsV2Command(wanted), each));
      yield found.Contents ?? [];
      page = found.NextContinuationToken === undefined ? undefined : { ContinuationToken: found.NextContinuationToken };
    }
  };

  const remove = async (key: string, state?: JsonObject): Promise<void> => {
    await deleteObject(objectName(key));
    if (state === undefined) return;
    const { upload } = readState(state);
    const aborted = { Bucket, Key: objectName(key), UploadId: upload };
    if (upload !== "") await unlessAbsent(send((each) => client.send(new AbortMultipartUploadCommand(aborted), each)));
    for await (const objects of listPages(restsPrefix(key))) {
      for (const { Key } of objects) if (Key !== undefined) await deleteObject(Key);
    }
  };

  const listUploads = async function* () {
    let page: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (page !== undefined) {
      const wanted: ListMultipartUploadsCommandInput = { Bucket, Prefix: `${prefix}content/`, ...page };
      const found: ListMultipartUploadsCommandOutput = await send((each) => client.send(new ListMultipartUploadsCommand(wanted), each));
      for (const { Key = "", UploadId = "", Initiated } of found.Uploads ?? []) {
        const key = Key.slice(`${prefix}content/`.length);
        if (isBlobKey(key)) yield { key, sizeBytes: 0, completed: false, changedAtMs: Initiated?.getTime() ?? 0, state: { upload: UploadId } };
      }
      const { IsTruncated: more, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = found;
      page = more === true && KeyMarker !== undefined ? { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) } : undefined;
    }
  };

  const listObjects = async function* (folder: "content/" | "uploads/") {
    for await (const objects of listPages(`${prefix}${folder}`)) {
      for (const { Key = "", Size = 0, LastModified } of objects) {
        const [key = ""] = Key.slice(`${prefix}${folder}`.length).split("/");
        if (isBlobKey(key)) yield { key, sizeBytes: Size, changedAtMs: LastModified?.getTime() ?? 0 };
      }
    }
  };

  const hasContent = async (signal?: AbortSignal): Promise<boolean> => {
    for (const folder of ["content/", "uploads/"]) {
      const listed = new ListObjectsV2Command({ Bucket, Prefix: `${prefix}${folder}`, MaxKeys: 1 });
      const { Contents = [] } = await probing.send(listed, signal && { abortSignal: signal });
      if (Contents.length > 0) return true;
    }
    return false;
  };

  const writeMark = async (storeId: string): Promise<string> => {
    if (await hasContent()) throw occupiedPlace(where);
    const Body = `${JSON.stringify(makeMark(storeId))}\n`;
    try {
      await probing.send(new PutObjectCommand({ Bucket, Key: `${prefix}${markName}`, Body, ContentType: "application/json", IfNoneMatch: "*" }));
    } catch (thrown) {
      // Another server created it concurrently.
      if (statusOf(thrown) !== 412 && statusOf(thrown) !== 409) throw thrown;
    }
    const mark = await readMarkText();
    if (mark === undefined) throw new Error("what was written is not there");
    return mark;
  };

  const readMarkText = async (signal?: AbortSignal): Promise<string | undefined> => {
    const options = signal && { abortSignal: signal };
    return (await unlessAbsent(probing.send(new GetObjectCommand({ Bucket, Key: `${prefix}${markName}` }), options)))?.Body?.transformToString();
  };

  return {
    append,
    complete: (key, at) => translated(complete(key, at)),
    read: (key, range) => translated(read(key, range)),
    sizeOf: (key) => translated(sizeOfObject(objectName(key))),
    remove: (key, state) => translated(remove(key, state)),
    ...(options.redirects
      ? {
          signedUrl: (key: string, { seconds, contentType }: { seconds: number; contentType: string }) =>
            getSignedUrl(signing, new GetObjectCommand({ Bucket, Key: objectName(key), ResponseContentType: contentType }), { expiresIn: seconds }),
        }
      : {}),
    async *list() {
      for await (const each of listObjects("content/")) yield { ...each, completed: true };
      for await (const each of listObjects("uploads/")) yield { ...each, completed: false, state: {} };
      yield* listUploads();
    },
    isEmpty: (signal) => translated((async () => (await readMarkText(signal)) === undefined && !(await hasContent(signal)))()),
    async claim(storeId, known, signal) {
      const mark = await translated(readMarkText(signal));
      if (mark === undefined && known !== undefined) throw emptyPlace(where);
      return judgeMark(readMark(mark ?? (await translated(writeMark(storeId))), where), storeId, known, where);
    },
    async close() {
      client.destroy();
      probing.destroy();
      signing.destroy();
    },
  };
};
