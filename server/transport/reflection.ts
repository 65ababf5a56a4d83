// grpc.reflection: describes the contract to clients (buf curl, grpcurl), as v1 and v1alpha, which have the same messages. Open,
// because the contract is public. Also describes the v2beta1 packages of the same services, by files that differ only in names and
// paths; operations without a version 2 use their messages.

import { clone, create, createFileRegistry, type DescFile, type DescMessage, getExtension, hasExtension, setExtension, toBinary } from "@bufbuild/protobuf";
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { codes, Fault } from "#base/fault.ts";
import { betaNameOf, betaPathOf, isBetaName } from "#contract/catalog.ts";
import { files } from "#contract/descriptors.ts";
import { http } from "#contract/gen/google/api/annotations_pb.js";
import { type HttpRule, HttpRuleSchema } from "#contract/gen/google/api/http_pb.js";
import { file_grpc_health_v1_health as healthFile } from "#contract/gen/grpc/health/v1/health_pb.js";
import {
  file_grpc_reflection_v1_reflection as reflectionFile,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "#contract/gen/grpc/reflection/v1/reflection_pb.js";
import { file_grpc_reflection_v1alpha_reflection as olderFile } from "#contract/gen/grpc/reflection/v1alpha/reflection_pb.js";
import { decodeMessage } from "./frames.ts";
import type { Procedure, StreamingProcedure } from "./rpc.ts";
import type { ServerContext } from "./server-context.ts";

interface DescriptorIndex {
  readonly byName: ReadonlyMap<string, DescFile>;
  readonly bySymbol: ReadonlyMap<string, DescFile>;
  /** By extended message, then number. */
  readonly extensions: ReadonlyMap<string, ReadonlyMap<number, DescFile>>;
  readonly services: readonly string[];
}

const fileName = (file: DescFile): string => file.proto.name;

const symbolsOf = (file: DescFile): string[] => {
  const ofMessage = (message: DescMessage): string[] => [
    message.typeName,
    ...message.fields.map((field) => `${message.typeName}.${field.name}`),
    ...message.nestedEnums.map((nested) => nested.typeName),
    ...message.nestedExtensions.map((extension) => extension.typeName),
    ...message.nestedMessages.flatMap(ofMessage),
  ];
  return [
    ...file.messages.flatMap(ofMessage),
    ...file.enums.map((declared) => declared.typeName),
    ...file.extensions.map((extension) => extension.typeName),
    ...file.services.flatMap((service) => [service.typeName, ...service.methods.map((method) => `${service.typeName}.${method.name}`)]),
  ];
};

const betaOrSame = (name: string): string => betaNameOf(name) ?? name;

const isBetaFile = (file: DescFile): boolean => isBetaName(file.proto.package);

const betaRule = (rule: HttpRule): HttpRule => {
  const copy = clone(HttpRuleSchema, rule);
  for (const { pattern } of [copy, ...copy.additionalBindings]) if (typeof pattern.value === "string") pattern.value = betaPathOf(pattern.value);
  return copy;
};

/** Returns the file with every name and path of a version 2 package in its beta spelling. */
const betaFile = (file: DescFile): FileDescriptorProto => {
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  const rename = (message: DescriptorProto): void => {
    for (const field of [...message.field, ...message.extension]) field.typeName = betaOrSame(field.typeName);
    message.nestedType.forEach(rename);
  };
  proto.messageType.forEach(rename);
  for (const method of proto.service.flatMap((service) => service.method)) {
    method.inputType = betaOrSame(method.inputType);
    method.outputType = betaOrSame(method.outputType);
    if (method.options && hasExtension(method.options, http)) setExtension(method.options, http, betaRule(getExtension(method.options, http)));
  }
  proto.name = betaOrSame(proto.name);
  proto.package = betaOrSame(proto.package);
  proto.dependency = proto.dependency.map(betaOrSame);
  return proto;
};

/** Returns the beta files without their imports. `own`: files without a version 2, each after its imports. */
const betaFiles = (known: ReadonlyMap<string, DescFile>, own: readonly DescFile[]): DescFile[] => {
  const others = [...known.values()];
  const beta = [...others.filter((file) => betaNameOf(file.proto.package) !== undefined), ...own].map(betaFile);
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...others.map((file) => file.proto), ...beta] }));
  return beta.flatMap(({ name }) => registry.getFile(name) ?? []);
};

const indexDescriptors = (): DescriptorIndex => {
  const byName = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    if (byName.has(fileName(file))) return;
    // A registry needs imports first.
    file.dependencies.forEach(add);
    byName.set(fileName(file), file);
  };
  const contract = [...files, healthFile, reflectionFile, olderFile];
  contract.forEach(add);
  const own = [...byName.values()].filter(isBetaFile);
  for (const file of own) byName.delete(fileName(file));
  const roots = [...contract.filter((file) => !isBetaFile(file)), ...betaFiles(byName, own)];
  roots.forEach(add);
  const bySymbol = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescFile>>();
  for (const file of byName.values()) {
    for (const symbol of symbolsOf(file)) bySymbol.set(symbol, file);
    for (const extension of file.extensions) {
      const numbers = extensions.get(extension.extendee.typeName) ?? new Map<number, DescFile>();
      extensions.set(extension.extendee.typeName, numbers.set(extension.number, file));
    }
  }
  return { byName, bySymbol, extensions, services: roots.flatMap((file) => file.services.map((service) => service.typeName)).sort() };
};

/** Returns the file followed by all its imports, which clients need too. */
const withDependencies = (file: DescFile): Uint8Array[] => {
  const collected = new Map<string, DescFile>();
  const add = (next: DescFile): void => {
    if (collected.has(fileName(next))) return;
    collected.set(fileName(next), next);
    next.dependencies.forEach(add);
  };
  add(file);
  return [...collected.values()].map((next) => toBinary(FileDescriptorProtoSchema, next.proto));
};

const respond = (index: DescriptorIndex, request: ServerReflectionRequest): ServerReflectionResponse => {
  const reply = (messageResponse: ServerReflectionResponse["messageResponse"]): ServerReflectionResponse =>
    create(ServerReflectionResponseSchema, { validHost: request.host, originalRequest: request, messageResponse });
  const missing = (what: string): ServerReflectionResponse =>
    reply({ case: "errorResponse", value: { $typeName: "grpc.reflection.v1.ErrorResponse", errorCode: codes.NOT_FOUND, errorMessage: `${what} not found` } });
  const file = (found: DescFile | undefined, what: string): ServerReflectionResponse =>
    found
      ? reply({
          case: "fileDescriptorResponse",
          value: { $typeName: "grpc.reflection.v1.FileDescriptorResponse", fileDescriptorProto: withDependencies(found) },
        })
      : missing(what);
  const { messageRequest } = request;
  switch (messageRequest.case) {
    case "fileByFilename":
      return file(index.byName.get(messageRequest.value), messageRequest.value);
    case "fileContainingSymbol":
      return file(index.bySymbol.get(messageRequest.value), messageRequest.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = messageRequest.value;
      return file(index.extensions.get(containingType)?.get(extensionNumber), `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const baseTypeName = messageRequest.value;
      if (!index.bySymbol.has(baseTypeName)) return missing(baseTypeName);
      const extensionNumber = [...(index.extensions.get(baseTypeName)?.keys() ?? [])];
      return reply({ case: "allExtensionNumbersResponse", value: { $typeName: "grpc.reflection.v1.ExtensionNumberResponse", baseTypeName, extensionNumber } });
    }
    case "listServices":
      return reply({
        case: "listServicesResponse",
        value: {
          $typeName: "grpc.reflection.v1.ListServiceResponse",
          service: index.services.map((name) => ({ $typeName: "grpc.reflection.v1.ServiceResponse" as const, name })),
        },
      });
    default:
      throw new Fault("INVALID_ARGUMENT", "the request is empty");
  }
};

export const reflectionService = (context: ServerContext): ReadonlyMap<string, Procedure> => {
  let index: DescriptorIndex | undefined;
  const procedure: StreamingProcedure = {
    kind: "streaming",
    domain: "platform",
    open: (call) => {
      call.onClose(context.onDrain(() => call.end(new Fault("UNAVAILABLE", "the server is stopping"))));
      return {
        message: (bytes) => {
          // Built by the first request, which most servers never get.
          index ??= indexDescriptors();
          call.send(toBinary(ServerReflectionResponseSchema, respond(index, decodeMessage(ServerReflectionRequestSchema, bytes))));
        },
        end: () => call.end(),
      };
    },
  };
  return new Map(["v1", "v1alpha"].map((version) => [`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`, procedure]));
};
