// A resource outside the contract: the file of roles under other names, with the test's changes.

import { createFileRegistry, createRegistry, type DescFile, type DescMessage, type DescService, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { messageFact, methodFact } from "#contract/describe.ts";
import { RoleSchema } from "#contract/gen/chainguard/platform/iam/v2/roles_pb.js";
import { file_gantry_annotations_v1_annotations } from "#contract/gen/gantry/annotations/v1/annotations_pb.js";
import { file_google_api_annotations } from "#contract/gen/google/api/annotations_pb.js";
import { file_google_api_field_behavior } from "#contract/gen/google/api/field_behavior_pb.js";
import { type Resource, resource } from "#kernel";

const options = createRegistry(file_gantry_annotations_v1_annotations, file_google_api_annotations, file_google_api_field_behavior);

const filesBelow = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(filesBelow)];

const requireDescriptor = <Desc>(desc: Desc | undefined, name: string): Desc => {
  if (!desc) throw new Error(`the planted file has no ${name}`);
  return desc;
};

const fileText = (noun: string): string =>
  JSON.stringify(toJson(FileDescriptorProtoSchema, RoleSchema.file.proto, { registry: options }))
    .replace(/Role/g, noun)
    .replace(/role/g, noun.toLowerCase());

/**
 * Returns the resource `noun` with its rows in `table`.
 *
 * @param change edits the descriptor's JSON text
 */
export const plantResource = (noun: string, table: string, change: (text: string) => string): Resource => {
  const json = JSON.parse(change(fileText(noun))) as JsonValue;
  const proto = fromJson(FileDescriptorProtoSchema, json, { registry: options });
  const known = new Map(filesBelow(RoleSchema.file).map((file) => [`${file.name}.proto`, file]));
  const registry = createFileRegistry(proto, (path) => known.get(path));
  const message: DescMessage = requireDescriptor(registry.getMessage(`chainguard.platform.iam.v2.${noun}`), noun);
  const service: DescService = requireDescriptor(registry.getService(`chainguard.platform.iam.v2.${noun}sService`), `${noun}sService`);
  return resource({ service: service.typeName, message: message.typeName, table }, service.methods.map(methodFact), messageFact(message));
};
