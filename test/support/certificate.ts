import { generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";

/** A certificate and its private key, both PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

const OID = {
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
};
const ONE_DAY_MS = 86_400_000;

/** A fresh self-signed certificate for these host names, good for a day around now: nobody trusts it by itself. */
export function selfSigned(...hosts: string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(node(0x06, OID.ecdsaWithSha256));
  const name = sequence(
    node(0x31, sequence(node(0x06, OID.commonName), node(0x0c, Buffer.from("imggen test")))),
  );
  const altNames = sequence(...hosts.map((host) => node(0x82, Buffer.from(host))));
  const extension = sequence(node(0x06, OID.subjectAltName), node(0x04, altNames));
  const toBeSigned = sequence(
    node(0xa0, node(0x02, [2])),
    node(0x02, [1]),
    algorithm,
    name,
    sequence(utcTime(Date.now() - ONE_DAY_MS), utcTime(Date.now() + ONE_DAY_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    node(0xa3, sequence(extension)),
  );
  const signature = sign("sha256", toBeSigned, privateKey);
  const der = sequence(toBeSigned, algorithm, node(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** The environment in which a program trusts a certificate, which is written into a folder. */
export function trusting({ cert }: Certificate, folder: string): { NODE_EXTRA_CA_CERTS: string } {
  const file = path.join(folder, "ca.pem");
  writeFileSync(file, cert);
  return { NODE_EXTRA_CA_CERTS: file };
}

/** One value in DER: tag, length, content. */
function node(tag: number, content: Uint8Array | number[]): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), Buffer.from(content)]);
}

function sequence(...parts: Buffer[]): Buffer {
  return node(0x30, Buffer.concat(parts));
}

function utcTime(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replace(/\D/g, "");
  return node(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}
