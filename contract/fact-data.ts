// Serializes facts for contract/gen/facts.ts, and restores them. Messages and enums are referenced by name, and common values are
// omitted.

import {
  camelCase,
  type CapabilityFact,
  type EnumFact,
  type FieldFact,
  type MessageFact,
  type MethodFact,
  requiredOneofsOf,
  type ViewedMethodFact,
} from "./facts.ts";

const fieldDefaults: Omit<FieldFact, FieldName | "local"> = {
  shape: "one",
  kind: "string",
  keyKind: undefined,
  message: undefined,
  enum: undefined,
  oneof: undefined,
  oneRequired: false,
  presence: false,
  required: false,
  outputOnly: false,
  inputOnly: false,
  immutable: false,
  additive: false,
  scope: false,
  pattern: undefined,
  maxLength: 0,
  minItems: 0,
  minimum: 0,
  maximum: 0,
  example: "",
  redacted: false,
  shownOnce: false,
  fixedWhile: "",
  namedOnly: false,
  sortable: false,
  orderAliases: [],
  refersTo: "",
  alsoRefersTo: "",
  writtenAs: undefined,
  uid: false,
  liesBelow: "",
  deletedWithReference: false,
  inUseAs: "",
  version1Only: false,
  deprecated: false,
  filter: undefined,
  counterpart: undefined,
};

const methodDefaults: Omit<MethodFact, MethodName | "input" | "output"> = {
  version: "v2",
  http: [],
  distribution: undefined,
  scim: undefined,
  givesFile: false,
  conditional: false,
  capabilities: [],
  unscoped: false,
  open: false,
  anonymous: false,
  basic: false,
  personal: false,
  credentials: false,
  scope: undefined,
  groupFilter: undefined,
  event: undefined,
  delegates: undefined,
  writes: false,
  defaultOrder: "uid",
  totalMax: undefined,
  deprecated: false,
  view: undefined,
};

/** Always present, because it differs for each. */
type FieldName = "name" | "json" | "number";
type MethodName = "name" | "service" | "rpc" | "domain";

interface FieldData extends Partial<Omit<FieldFact, FieldName | "message" | "enum">>, Pick<FieldFact, FieldName> {
  readonly message?: string;
  readonly enum?: string;
}

interface MessageData extends Partial<Pick<MessageFact, "resource" | "told">>, Pick<MessageFact, "name" | "short"> {
  readonly fields: readonly FieldData[];
}

interface EnumData {
  readonly name: string;
  readonly values: readonly (readonly [name: string, number: number])[];
  readonly written?: readonly (readonly [name: string, text: string])[];
  readonly answered?: readonly string[];
}

interface MethodData extends Partial<Omit<MethodFact, MethodName | "input" | "output" | "view">>, Pick<MethodFact, MethodName> {
  readonly input: string;
  readonly output: string;
  readonly view?: { readonly of: string; readonly requestIn?: string; readonly tellsRequest: boolean };
}

export interface ContractData {
  readonly enums: readonly EnumData[];
  readonly messages: readonly MessageData[];
  readonly topMessages: readonly string[];
  readonly methods: readonly MethodData[];
  readonly version1: readonly MethodData[];
  readonly capabilities: readonly CapabilityFact[];
}

export interface Contract {
  readonly messages: ReadonlyMap<string, MessageFact>;
  readonly methods: readonly MethodFact[];
  readonly version1: readonly MethodFact[];
  readonly capabilities: readonly CapabilityFact[];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const differenceOf = <Fact extends object>(fact: Fact, usual: Partial<Fact>): Partial<Fact> =>
  Object.fromEntries(Object.entries(fact).filter(([name, value]) => !isSame(value, Reflect.get(usual, name)))) as Partial<Fact>;

const fieldData = ({ message, enum: values, local, ...fact }: FieldFact): FieldData => ({
  ...differenceOf(fact, fieldDefaults),
  name: fact.name,
  json: fact.json,
  number: fact.number,
  ...(isSame(local, [fact.json]) ? {} : { local }),
  ...(message ? { message: message.name } : {}),
  ...(values ? { enum: values.name } : {}),
});

const enumData = ({ name, numbers, written, answered }: EnumFact): EnumData => ({
  name,
  values: [...numbers],
  ...(written.size > 0 ? { written: [...written] } : {}),
  ...(answered.size > 0 ? { answered: [...answered] } : {}),
});

const methodData = ({ input, output, view, ...fact }: MethodFact): MethodData => ({
  ...differenceOf(fact, view?.of ?? methodDefaults),
  name: fact.name,
  service: fact.service,
  rpc: fact.rpc,
  domain: fact.domain,
  input: input.name,
  output: output.name,
  // Absent here, although the counterpart has it.
  ...(view && fact.scope === undefined && view.of.scope !== undefined ? { scope: [] } : {}),
  ...(view ? { view: { of: view.of.name, ...(view.requestIn ? { requestIn: view.requestIn.name } : {}), tellsRequest: view.tellsRequest } } : {}),
});

export const contractData = ({ messages, methods, version1, capabilities }: Contract): ContractData => {
  const all = new Map<string, MessageFact>();
  const enums = new Map<string, EnumFact>();
  const visit = (message: MessageFact): void => {
    if (all.has(message.name)) return;
    all.set(message.name, message);
    for (const field of message.fields) {
      if (field.enum) enums.set(field.enum.name, field.enum);
      if (field.message) visit(field.message);
    }
  };
  for (const message of messages.values()) visit(message);
  for (const { input, output } of [...methods, ...version1]) for (const message of [input, output]) visit(message);
  return {
    enums: [...enums.values()].map(enumData),
    messages: [...all.values()].map(({ name, short, fields, resource, told }) => ({
      name,
      short,
      ...(resource ? { resource } : {}),
      ...(told ? { told } : {}),
      fields: fields.map(fieldData),
    })),
    topMessages: [...messages.keys()],
    methods: methods.map(methodData),
    version1: version1.map(methodData),
    capabilities,
  };
};

const required = <Value>(value: Value | undefined, name: string): Value => {
  if (value === undefined) throw new Error(`contract/gen/facts.ts names ${name}, which it does not have: npm run gen`);
  return value;
};

const enumOf = ({ name, values, written = [], answered = [] }: EnumData): EnumFact => ({
  name,
  numbers: new Map(values),
  names: new Map(values.map(([value, number]) => [number, value])),
  written: new Map(written),
  answered: new Set(answered),
});

export const contractOf = (data: ContractData): Contract => {
  const enums = new Map(data.enums.map((each) => [each.name, enumOf(each)]));
  const dataOf = new Map(data.messages.map((each) => [each.name, each]));
  const known = new Map<string, MessageFact>();
  const messageOf = (name: string): MessageFact => {
    const found = known.get(name);
    if (found) return found;
    const { short, resource, told, fields: own } = required(dataOf.get(name), name);
    const fields: FieldFact[] = [];
    const byName = new Map<string, FieldFact>();
    const requiredOneofs: FieldFact[][] = [];
    const fact: MessageFact = { name, short, fields, byName, requiredOneofs, resource, told };
    // Registered before its fields, because messages may be recursive.
    known.set(name, fact);
    for (const { message, enum: values, ...said } of own) {
      const field: FieldFact = {
        ...fieldDefaults,
        local: [said.json],
        ...said,
        message: message === undefined ? undefined : messageOf(message),
        enum: values === undefined ? undefined : required(enums.get(values), values),
      };
      fields.push(field);
      for (const spelling of [field.json, field.name, camelCase(field.name)]) byName.set(spelling, field);
    }
    requiredOneofs.push(...requiredOneofsOf(fields));
    return fact;
  };
  const methodOf = ({ input, output, view: _, ...said }: MethodData): MethodFact => ({
    ...methodDefaults,
    ...said,
    input: messageOf(input),
    output: messageOf(output),
  });
  const methods = data.methods.map(methodOf);
  const byName = new Map(methods.map((method) => [method.name, method]));
  const version1 = data.version1.map((each): MethodFact | ViewedMethodFact => {
    if (each.view === undefined) return methodOf(each);
    const { input, output, view, ...said } = each;
    const of = required(byName.get(view.of), view.of);
    const requestIn = view.requestIn === undefined ? undefined : required(of.input.byName.get(view.requestIn), view.requestIn);
    return {
      ...of,
      ...said,
      scope: said.scope?.length === 0 ? undefined : (said.scope ?? of.scope),
      input: messageOf(input),
      output: messageOf(output),
      view: { of, requestIn, tellsRequest: view.tellsRequest },
    };
  });
  return { messages: new Map(data.topMessages.map((name) => [name, messageOf(name)])), methods, version1, capabilities: data.capabilities };
};
