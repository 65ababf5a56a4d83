// AWS credentials as a token (authentication.md: 6): a GetCallerIdentity request that the bearer signed. This server sends it, and
// AWS returns the signer.
//
//   token    = base64url( "POST " query " HTTP/1.1" CRLF *( name ": " value CRLF ) CRLF )   ; no body
//   query    = "/?Action=GetCallerIdentity&Version=2011-06-15"
//
// Form, audience, identity and time are checked first, so a caller cannot make this server send arbitrary requests. A signature is
// accepted once over all replicas, which prevents replay.

import { createHash } from "node:crypto";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { part, text, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import type { Log } from "#base/log.ts";
import { matchingBudget } from "#base/pattern.ts";
import { type Clock, readTimestamp } from "#base/time.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { findIdentity, hasAwsRequest, insertAwsRequest } from "#iam/store";
import type { Store } from "#db";
import type { Audiences } from "./audiences.ts";
import { meetsDemand, parseObject } from "./claims.ts";
import type { Outbound, OutboundReply } from "./outbound.ts";
import { checkIdentityEnd } from "./foreign-tokens.ts";
import { isClean, quoteForError } from "./token.ts";

/** Not verified by AWS yet. */
export interface AwsRequest {
  readonly host: string;
  readonly audience: string;
  readonly identity: string;
  readonly signature: string;
  readonly expireTimeMs: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The signer according to AWS. */
export interface AwsCaller {
  readonly account: string;
  readonly arn: string;
  readonly userId: string;
}

/** A verified request, with the signer's claims for issued tokens. */
export interface VerifiedAwsRequest {
  readonly request: AwsRequest;
  readonly act: Readonly<Record<string, string>>;
  readonly subject: string;
  /** Infinity: never. */
  readonly identityEndMs: number;
}

export interface AwsTokens {
  /** Verifies with AWS that a signer allowed by the identity `uid` signed the token's request, and marks the request as used. Throws otherwise. */
  verify(uid: string, token: string): Promise<VerifiedAwsRequest>;
}

const requestLine = "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1";
const tokenPrefix = Buffer.from("POST /").toString("base64url");
const tokenForm = /^[A-Za-z0-9_-]+={0,2}$/;
const headerForm = /^([A-Za-z0-9-]+): ?([\x20-\x7e]*)$/;
const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=\w{16,128}\/(\d{8})\/[a-z0-9-]{1,32}\/sts\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

// Commercial partition only: GovCloud and China assign the same account numbers independently. Operators there configure the
// endpoint.
const genuineHost = /^sts(?:\.(?!cn-|us-gov-|us-iso)[a-z]{2}-[a-z]+(?:-[a-z]+)?-\d)?\.amazonaws\.com$/;

/** Unsigned, they could be altered for another use. */
const signedHeaders = ["host", "x-amz-date", "chainguard-audience", "chainguard-identity"];
// Other headers could have a meaning for AWS or for a proxy.
const acceptedHeaders: ReadonlySet<string> = new Set([
  ...signedHeaders,
  "authorization",
  "x-amz-security-token",
  "x-amz-content-sha256",
  "accept",
  "accept-encoding",
  "content-length",
  "content-type",
  "user-agent",
]);
const emptyDigest = createHash("sha256").digest("hex");

const malformedRequest = (why: string): Fault => unauthenticated(`the AWS request is malformed: ${why}`);

/** Returns whether the text is an AWS token rather than a JWT, which has dots. */
export const isAwsToken = (token: string): boolean => token.startsWith(tokenPrefix) && tokenForm.test(token);

const decodeRequest = (token: string): string => {
  if (token.length > limits.tokenBytesMax) throw unauthenticated(`the token is longer than ${limits.tokenBytesMax} bytes`);
  // One byte per character; the forms below refuse non-ASCII.
  return Buffer.from(token, "base64url").toString("latin1");
};

const readHeaders = (lines: readonly string[]): ReadonlyMap<string, string> => {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [matched, name = "", value = ""] = headerForm.exec(line) ?? [];
    const key = name.toLowerCase();
    if (matched === undefined) throw malformedRequest("a header is not one line of printable text");
    if (!acceptedHeaders.has(key)) throw malformedRequest(`the header ${JSON.stringify(key)} is not expected`);
    if (headers.has(key)) throw malformedRequest(`the header ${JSON.stringify(key)} occurs twice`);
    headers.set(key, value);
  }
  return headers;
};

/** "20261121T220000Z"; NaN if invalid. */
const amzDateMs = (date: string): number => {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  return year === undefined ? Number.NaN : (readTimestamp(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) ?? Number.NaN);
};

const checkBodyless = (headers: ReadonlyMap<string, string>): void => {
  if ((headers.get("content-length") ?? "0") !== "0") throw malformedRequest("it has a body");
  if ((headers.get("x-amz-content-sha256") ?? emptyDigest) !== emptyDigest) throw malformedRequest("it signs a body");
  // A compressed response could exceed the size limit.
  if ((headers.get("accept-encoding") ?? "identity") !== "identity") throw malformedRequest("it requests a compressed response");
};

/** Parses the request of a token at `nowMs`. `endpointHost` is accepted in addition to AWS hosts. Throws UNAUTHENTICATED. */
export const readAwsRequest = (token: string, endpointHost: string | undefined, nowMs: number): AwsRequest => {
  const decoded = decodeRequest(token);
  const end = decoded.indexOf("\r\n\r\n");
  if (end < 0 || end + 4 !== decoded.length) throw malformedRequest("it is not one HTTP request without a body");
  const [first, ...lines] = decoded.slice(0, end).split("\r\n");
  if (first !== requestLine) throw malformedRequest(`it does not begin with ${requestLine}`);
  const headers = readHeaders(lines);
  checkBodyless(headers);

  const [matched, day = "", signed = "", signature = ""] = authorizationForm.exec(headers.get("authorization") ?? "") ?? [];
  if (matched === undefined) throw malformedRequest("its Authorization is not an AWS4-HMAC-SHA256 signature for STS");
  const names = signed.split(";");
  if (new Set(names).size !== names.length) throw malformedRequest("it signs a header twice");
  const absent = names.find((name) => !headers.has(name));
  if (absent !== undefined) throw malformedRequest(`it signs the header ${JSON.stringify(absent)}, which is missing`);
  const needed = headers.has("x-amz-security-token") ? [...signedHeaders, "x-amz-security-token"] : signedHeaders;
  const unsigned = needed.find((name) => !names.includes(name));
  if (unsigned !== undefined) throw malformedRequest(`the header ${JSON.stringify(unsigned)} is not signed`);

  const host = headers.get("host") ?? "";
  if (!genuineHost.test(host) && host !== endpointHost) throw malformedRequest("its host is not AWS STS");
  const date = headers.get("x-amz-date") ?? "";
  const dateMs = amzDateMs(date);
  if (Number.isNaN(dateMs) || !date.startsWith(day)) throw malformedRequest("its X-Amz-Date is not the time that it was signed for");
  if (nowMs - dateMs > limits.awsRequestAgeMs) throw unauthenticated("the AWS request has expired");
  if (dateMs - nowMs > limits.awsRequestAheadMs) throw unauthenticated("the AWS request is not valid yet");
  return {
    host,
    audience: headers.get("chainguard-audience") ?? "",
    identity: headers.get("chainguard-identity") ?? "",
    signature,
    expireTimeMs: dateMs + limits.awsRequestAgeMs,
    headers: Object.fromEntries([...headers].filter(([name]) => name !== "content-length" || names.includes(name))),
  };
};

/** AWS responds in JSON if requested, otherwise in XML. */
const parseAnswer = async ({ headers, body }: OutboundReply): Promise<JsonObject | undefined> => {
  const answer = new TextDecoder().decode(body);
  if ((headers["content-type"] ?? "").startsWith("application/json")) return parseObject(answer);
  // Responses of AWS have no DTD, which could redefine the text.
  if (answer.includes("<!")) return undefined;
  const { XMLParser } = await import("fast-xml-parser");
  const parsed: unknown = new XMLParser({ processEntities: false, parseTagValue: false, ignoreAttributes: true }).parse(answer);
  return parseObject(JSON.stringify(parsed));
};

const readAwsCaller = async (answer: OutboundReply): Promise<AwsCaller | undefined> => {
  const document = await parseAnswer(answer);
  const result = part(part(document ?? {}, "GetCallerIdentityResponse"), "GetCallerIdentityResult");
  const [account, arn, userId] = [text(result, "Account"), text(result, "Arn"), text(result, "UserId")];
  const isComplete = /^\d{12}$/.test(account) && arn !== "" && userId !== "" && isClean(arn) && isClean(userId);
  return isComplete ? { account, arn, userId } : undefined;
};

/** Returns the first mismatching field and its actual value. */
const awsIdentityMismatch = (identity: JsonObject, { account, arn, userId }: AwsCaller): readonly [field: string, found: string] | undefined => {
  if (text(identity, "awsAccount") !== account) return ["aws_account", account];
  const budget = matchingBudget();
  if (!meetsDemand(text(identity, "arn"), text(identity, "arnPattern"), [arn], budget)) return ["arn", arn];
  return meetsDemand(text(identity, "userId"), text(identity, "userIdPattern"), [userId], budget) ? undefined : ["user_id", userId];
};

/** Issuer of AWS callers in tokens and events. */
export const awsIssuer = "https://sts.amazonaws.com";

const awsActClaimOf = ({ audience }: AwsRequest, { account, arn, userId }: AwsCaller): Readonly<Record<string, string>> => ({
  iss: awsIssuer,
  sub: userId,
  aud: audience,
  "aws-acct": account,
  "aws-arn": arn,
});

const invalidAwsField = (name: string, found: string): Fault => denied(`the token cannot assume this identity: invalid ${JSON.stringify(name)}: ${found}`);

// The log has the reason (outbound.ts).
const unreachableSts = (cause?: unknown): Fault => new Fault("UNAVAILABLE", "AWS STS cannot be reached. Try again later", { cause });

export const openAwsTokens = (dependencies: {
  readonly store: Store;
  readonly outbound: Outbound;
  readonly audiences: Audiences;
  readonly clock: Clock;
  readonly log: Log;
  /** GANTRY_AWS_STS_URL; undefined: the signed host. */
  readonly endpoint: string | undefined;
  readonly siblings?: Siblings;
}): AwsTokens => {
  const { store, outbound, audiences, clock, log, endpoint, siblings = alone } = dependencies;
  let calls = 0;

  const send = async ({ host, headers, identity }: AwsRequest): Promise<OutboundReply> => {
    // Made-up requests cost AWS something, and here at most one of these slots.
    if (calls >= siblings.share(limits.awsCallsMax)) throw unreachableSts();
    calls++;
    try {
      const base = withoutTrailing(endpoint ?? `https://${host}`, "/");
      return await outbound.fetch("issuer", `${base}/?Action=GetCallerIdentity&Version=2011-06-15`, {
        tenant: { organization: rootOf(identity) },
        method: "POST",
        headers,
        bytesMax: limits.awsAnswerBytesMax,
      });
    } catch (cause) {
      log("authn.aws.failed", { cause });
      throw unreachableSts(cause);
    } finally {
      calls--;
    }
  };

  /** A malformed response proves nothing (attack 23). */
  const fetchCaller = async (request: AwsRequest): Promise<AwsCaller> => {
    const answer = await send(request);
    if (answer.status >= 500 || answer.status === 429) throw unreachableSts(new Error(`AWS STS returned ${answer.status}`));
    if (answer.status !== 200) throw unauthenticated(`AWS rejected the signed request (${answer.status})`);
    const caller = await readAwsCaller(answer).catch(() => undefined);
    if (caller === undefined) throw unauthenticated("the response of AWS does not name the signer of the request");
    return caller;
  };

  const usedBefore = (): Fault => unauthenticated("the AWS request was used before: sign a new one each time");
  const digestOfRequest = ({ signature }: AwsRequest): string => createHash("sha256").update(signature).digest("hex");

  /** Of concurrent uses of one request, one succeeds, over all servers. */
  const markUsed = async (request: AwsRequest): Promise<void> => {
    const untilMs = request.expireTimeMs + limits.clockSkewMs;
    if (!(await store.write((rows) => insertAwsRequest(rows, digestOfRequest(request), untilMs)))) throw usedBefore();
  };

  return {
    verify: async (uid, token) => {
      const request = readAwsRequest(token, endpoint === undefined ? undefined : new URL(endpoint).host, clock());
      audiences.check([request.audience]);
      if (!isUid(uid) || request.identity !== uid) throw invalidAwsField("identity", `the request is signed for ${quoteForError(request.identity)}`);
      const found = await findIdentity(store.read, uid);
      const awsIdentity = found?.awsIdentity;
      // One error for unknown identities and those without aws_identity; neither justifies a request to AWS (attack 18).
      if (found === undefined || awsIdentity === undefined) throw invalidAwsField("iss", "no identity of this uid takes AWS requests");
      if (await hasAwsRequest(store.read, digestOfRequest(request))) throw usedBefore();
      const caller = await fetchCaller(request);
      const mismatch = awsIdentityMismatch(awsIdentity, caller);
      if (mismatch !== undefined)
        throw invalidAwsField(mismatch[0], `AWS returned ${quoteForError(mismatch[1])}. Callers that can read the identity see the expected value`);
      // The request may have expired while AWS was responding.
      if (clock() > request.expireTimeMs) throw unauthenticated("the AWS request has expired");
      const identityEndMs = checkIdentityEnd(found, clock());
      await markUsed(request);
      return { request, act: awsActClaimOf(request, caller), subject: caller.userId, identityEndMs };
    },
  };
};
