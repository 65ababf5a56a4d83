// The descriptors served by reflection equal the public ones (contract/public-descriptors.txt): names, numbers, types, presence
// and paths. contract/public-exceptions.json has the deviations with reasons.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Client, credentials } from "@grpc/grpc-js";
import { clone, create, createFileRegistry, type DescFile, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  EnumValueDescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "#contract/gen/grpc/reflection/v1/reflection_pb.js";
import { compare, describe, type Difference, readFacts } from "./public-descriptors.ts";
import { openWorld, type World } from "./world.ts";

const publicText = readFileSync("contract/public-descriptors.txt", "utf8");
const exceptions: Readonly<Record<string, string>> = JSON.parse(readFileSync("contract/public-exceptions.json", "utf8"));

let world: World;
let served: DescFile[];

/** Sends requests on one reflection stream; returns the responses in order. */
const reflect = (requests: readonly ServerReflectionRequest["messageRequest"][]): Promise<ServerReflectionResponse["messageResponse"][]> =>
  new Promise((resolve, reject) => {
    const client = new Client(new URL(world.url).host, credentials.createInsecure(), { "grpc.max_receive_message_length": -1 });
    const stream = client.makeBidiStreamRequest(
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      (request: ServerReflectionRequest) => Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
      (bytes: Buffer) => fromBinary(ServerReflectionResponseSchema, bytes),
    );
    const responses: ServerReflectionResponse["messageResponse"][] = [];
    stream.on("data", (response: ServerReflectionResponse) => responses.push(response.messageResponse));
    stream.on("error", reject);
    stream.on("end", () => {
      client.close();
      resolve(responses);
    });
    for (const messageRequest of requests) stream.write(create(ServerReflectionRequestSchema, { messageRequest }));
    stream.end();
  });

const readServed = async (): Promise<DescFile[]> => {
  const [listed] = await reflect([{ case: "listServices", value: "" }]);
  assert.ok(listed?.case === "listServicesResponse");
  const symbols = [...listed.value.service.map(({ name }) => name), "chainguard.capabilities.Capability"];
  const responses = await reflect(symbols.map((value) => ({ case: "fileContainingSymbol" as const, value })));
  assert.equal(responses.length, symbols.length);
  const files = new Map<string, FileDescriptorProto>();
  for (const response of responses) {
    assert.ok(response.case === "fileDescriptorResponse");
    for (const bytes of response.value.fileDescriptorProto) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
    }
  }
  return filesOf([...files.values()]);
};

const filesOf = (protos: readonly FileDescriptorProto[]): DescFile[] => {
  const ordered = new Map<string, FileDescriptorProto>();
  const add = (proto: FileDescriptorProto): void => {
    for (const name of proto.dependency) for (const needed of protos) if (needed.name === name && !ordered.has(name)) add(needed);
    ordered.set(proto.name, proto);
  };
  protos.forEach(add);
  return [...createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered.values()] })).files];
};

before(async () => {
  world = await openWorld();
  served = await readServed();
});
after(() => world?.close());

/** Returns the exception's key for a difference: its subject, or a prefix with "*". */
const exceptionFor = ({ subject }: Difference): string | undefined =>
  Object.keys(exceptions).find((key) => (key.endsWith("*") ? subject.startsWith(key.slice(0, -1)) : key === subject));

const unexplained = (differences: readonly Difference[]): string[] =>
  differences.filter((each) => exceptionFor(each) === undefined).map(({ subject, says }) => `${subject}: ${says}`);

test("reflection describes the public contract; every exception has a reason and is needed", () => {
  const facts = readFacts(publicText);
  assert.ok([...facts.keys()].filter((subject) => subject.startsWith("method ")).length > 300);
  const differences = compare(facts, describe(served));
  assert.deepEqual(unexplained(differences), []);
  const used = new Set(differences.map(exceptionFor));
  assert.deepEqual(
    Object.keys(exceptions).filter((key) => !used.has(key)),
    [],
    "contract/public-exceptions.json: an exception for something that does not differ",
  );
});

const planted = (name: string, plant: (file: FileDescriptorProto) => unknown): DescFile[] => {
  const protos = served.map(({ proto }) => {
    const copy = clone(FileDescriptorProtoSchema, proto);
    if (proto.name === name) plant(copy);
    return copy;
  });
  assert.ok(protos.some((proto) => proto.name === name));
  return filesOf(protos);
};

const messageIn = (file: FileDescriptorProto, name: string): DescriptorProto =>
  file.messageType.find((message) => message.name === name) ?? assert.fail(`no message ${name}`);

const fieldIn = (file: FileDescriptorProto, message: string, name: string): FieldDescriptorProto =>
  messageIn(file, message).field.find((field) => field.name === name) ?? assert.fail(`no field ${name}`);

const registry = "chainguard/platform/registry/registry.proto";
const capabilities = "chainguard/capabilities/capabilities.proto";

const plants: readonly (readonly [string, string, (file: FileDescriptorProto) => unknown, readonly string[]])[] = [
  [
    "a wrong number",
    registry,
    (file) => (fieldIn(file, "HelmChart", "repo").number = 7),
    ["message chainguard.platform.registry.HelmChart repo: 7:string instead of 2:string"],
  ],
  [
    "another type",
    registry,
    (file) => (fieldIn(file, "HelmChart", "repo").type = FieldDescriptorProto_Type.BYTES),
    ["message chainguard.platform.registry.HelmChart repo: 2:bytes instead of 2:string"],
  ],
  ["a missing field", registry, (file) => messageIn(file, "Helm").field.pop(), ["message chainguard.platform.registry.Helm values: missing"]],
  [
    "a field of Gantry's below 1000",
    registry,
    (file) => messageIn(file, "Helm").field.push(create(FieldDescriptorProtoSchema, { ...fieldIn(file, "Helm", "values"), name: "own", number: 999 })),
    ["message chainguard.platform.registry.Helm own: 999:string is not public"],
  ],
  [
    "a field of Gantry's from 1000 on, which is no difference",
    registry,
    (file) => messageIn(file, "Helm").field.push(create(FieldDescriptorProtoSchema, { ...fieldIn(file, "Helm", "values"), name: "own", number: 1000 })),
    [],
  ],
  [
    "a capability of Gantry's below 20000",
    capabilities,
    (file) => file.enumType[0]?.value.push(create(EnumValueDescriptorProtoSchema, { name: "CAP_OWN", number: 19_999 })),
    ["enum chainguard.capabilities.Capability CAP_OWN: 19999 is not public"],
  ],
  ["a missing method", registry, (file) => file.service[0]?.method.shift(), ["method chainguard.platform.registry.Registry/CreateRepo: missing"]],
];

for (const [what, file, plant, expected] of plants)
  test(`the comparison finds a planted difference: ${what}`, () => {
    assert.deepEqual(unexplained(compare(readFacts(publicText), describe(planted(file, plant)))), expected);
  });

test("a public path that the method lacks is reported", () => {
  const other = publicText.replace("; GET /auth/v1/ok", "; GET /auth/v1/fine");
  assert.notEqual(other, publicText);
  assert.deepEqual(unexplained(compare(readFacts(other), describe(served))), [
    "method chainguard.platform.auth.Auth/Validate http: GET /auth/v1/ok instead of GET /auth/v1/fine",
  ]);
});
