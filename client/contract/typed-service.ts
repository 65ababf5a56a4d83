// Typed functions of a service, computed from the protobuf-es descriptors and their JSON types.

import type { DescMessage, DescService, MessageJsonType } from "@bufbuild/protobuf";
import type { JsonObject } from "#base/json.ts";
import type { Answer, Caller, CallOptions, PagesOptions } from "#client";
import type { Operation } from "./operation.ts";

/** A request. Fields may be undefined, so that a response can be sent back. */
export type Sent<Value> = Value extends readonly (infer Entry)[]
  ? readonly Sent<Entry>[]
  : Value extends object
    ? { readonly [Key in keyof Value]?: Sent<Value[Key]> | undefined }
    : Value;

type IsUnion<Type, Whole = Type> = Type extends unknown ? ([Whole] extends [Type] ? false : true) : never;

type ListedKey<Reply> = {
  [Key in keyof Reply]-?: NonNullable<Reply[Key]> extends readonly (infer Item)[] ? (Item extends object ? Key : never) : never;
}[keyof Reply];

type EntryOf<List> = List extends readonly (infer Item)[] ? Item : never;

/** The item type of a list response; never unless it has exactly one list of messages. */
export type ItemOf<Reply> = [ListedKey<Reply>] extends [never]
  ? never
  : IsUnion<ListedKey<Reply>> extends false
    ? EntryOf<NonNullable<Reply[ListedKey<Reply>]>>
    : never;

export interface OperationFunction<Request, Reply> {
  (request: Request, options?: CallOptions): Promise<Reply>;
  /** The same, with headers and ETag. */
  answer(request: Request, options?: CallOptions): Promise<Answer<Reply>>;
}

export interface ListFunction<Request, Reply> extends OperationFunction<Request, Reply> {
  pages(request: Request, options?: CallOptions & PagesOptions): AsyncIterable<Reply>;
  /** Yields the items of all pages. */
  all(request: Request, options?: CallOptions & PagesOptions): AsyncIterable<ItemOf<Reply>>;
}

type FunctionOf<Request, Reply> = [ItemOf<Reply>] extends [never] ? OperationFunction<Request, Reply> : ListFunction<Request, Reply>;

/** `client.service(GroupsService)`: its operations in lower camel case. */
export type ServiceClient<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: Service["method"][Name] extends {
    readonly input: infer Input extends DescMessage;
    readonly output: infer Output extends DescMessage;
  }
    ? FunctionOf<Sent<MessageJsonType<Input>>, MessageJsonType<Output>>
    : never;
};

export const serviceClient = <Service extends DescService>(client: Caller<Operation>, service: Service): ServiceClient<Service> => {
  const functions = service.methods.map((descriptor) => {
    const call = (request: JsonObject, options?: CallOptions): Promise<JsonObject> => client.call(descriptor, request, options);
    return [
      descriptor.localName,
      Object.assign(call, {
        answer: (request: JsonObject, options?: CallOptions) => client.answer(descriptor, request, options),
        pages: (request: JsonObject, options?: CallOptions & PagesOptions) => client.pages(descriptor, request, options),
        all: (request: JsonObject, options?: CallOptions & PagesOptions) => client.items(descriptor, request, options),
      }),
    ] as const;
  });
  // The types are derived from the same descriptor; tsc and a test over the contract check both.
  return Object.fromEntries(functions) as unknown as ServiceClient<Service>;
};
