// Writes src/protocol.generated.ts from the JSON Schema of the protocol. Every build runs it.
import { readFileSync, writeFileSync } from "node:fs";

const SCHEMA = new URL("../../../protocol/schema/longhaul-v1.schema.json", import.meta.url);
const OUTPUT = new URL("../src/protocol.generated.ts", import.meta.url);

writeFileSync(OUTPUT, generate(JSON.parse(readFileSync(SCHEMA, "utf8"))));

function generate(schema) {
  const names = Object.keys(schema.$defs).sort();
  const parts = [
    "// Generated from protocol/schema/longhaul-v1.schema.json by scripts/generate.mjs. Do not edit.\n",
    constants(schema),
    ...names.map((name) => definition(name, schema.$defs[name])),
    methods(schema.methods),
  ];
  return parts.join("\n");
}

function constants(schema) {
  const limits = Object.entries(schema.limits).map(([name, value]) => `  ${name}: ${value},\n`);
  const { major, revisions } = schema.protocol;
  return [
    "/** The major version, which is part of the socket's name. */",
    `export const PROTOCOL_MAJOR = ${major};`,
    "/** The revisions these types support. */",
    `export const REVISIONS = { min: ${revisions.min}, max: ${revisions.max} } as const;`,
    "/** Limits of the protocol. */",
    `export const LIMITS = {\n${limits.join("")}} as const;\n`,
  ].join("\n");
}

function methods(all) {
  const rows = Object.entries(all).map(([name, method]) => {
    const [params, result] = [typeOf(method.params), typeOf(method.result)];
    return `  "${name}": { params: ${params}; result: ${result} };\n`;
  });
  return `/** Params and result of every method. */\nexport interface Methods {\n${rows.join("")}}\n`;
}

function definition(name, schema) {
  const about = comment(schema.description, "");
  const isRecord = schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;
  return isRecord
    ? `${about}export interface ${name} ${record(schema, "")}\n`
    : `${about}export type ${name} = ${typeOf(schema, "")};\n`;
}

function typeOf(schema, indent = "") {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, indent)))].join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  }
  return plain(schema, indent);
}

function plain(schema, indent) {
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array":
      return list(schema, indent);
    case "object":
      return record(schema, indent);
    default:
      return "unknown";
  }
}

function list(schema, indent) {
  const element = typeOf(schema.items, indent);
  if (schema.minItems && schema.minItems === schema.maxItems) {
    return `[${Array(schema.minItems).fill(element).join(", ")}]`;
  }
  return element.includes("|") || element.startsWith("{") ? `Array<${element}>` : `${element}[]`;
}

function record(schema, indent) {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) {
    const rest = schema.additionalProperties;
    return `Record<string, ${rest ? typeOf(rest, indent) : rest === false ? "never" : "unknown"}>`;
  }
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const rows = fields.map(([name, field]) => {
    const mark = required.has(name) ? "" : "?";
    return `${comment(field.description, inner)}${inner}${name}${mark}: ${typeOf(field, inner)};\n`;
  });
  return `{\n${rows.join("")}${indent}}`;
}

function comment(text, indent) {
  if (!text) return "";
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd() + "\n").join("")}${indent} */\n`;
}
