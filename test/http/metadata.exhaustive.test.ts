/**
 * The description of a release in JSON-LD before validators of others: mlcroissant finds no error and no warning and reads every
 * record set, rdflib and pySHACL find what DCAT asks for.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { describeMetadata } from '../../src/release/descriptions/metadata-jsonld.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const folder = temporaryFolder('metadata')
const manifestOf = (id: string): Manifest =>
  JSON.parse(readFileSync(join(small.releasesDir, id, 'manifest.json'), 'utf8')) as Manifest
const { cnes = '', demography = '', analytics = '' } = small.result as unknown as Record<string, string>

/** @returns file of a description, in which addresses of files are paths where they are to be read */
function write(manifest: Manifest, joined: readonly Manifest[], isLocal: boolean): string {
  const id = manifest.release_id
  const release = (own: string): string => `https://dados.example.br/v1/releases/${own}`
  const metadata = describeMetadata(manifest, joined, {
    release,
    metadata: (own) => `${release(own)}/metadata.jsonld`,
    file: (path) => (isLocal ? join(small.releasesDir, id, path) : `${release(id)}/files/${path}`),
  })
  const file = join(folder, `${manifest.area}-${isLocal ? 'local' : 'served'}.jsonld`)
  writeFileSync(file, JSON.stringify(metadata))
  return file
}
const parts = [manifestOf(cnes), manifestOf(demography)]
/** As the publishers' files would be, not the demonstration. */
const published: Manifest = { ...(parts[1] as Manifest), area: 'demography', synthetic: false, scope: 'rr' }

/** Record sets that are read to their end. */
const READ = ['bed_capacity-202604', 'bed_capacity-202605', 'facility_types']

t.test('mlcroissant', { skip: withoutPython('mlcroissant', 'pyarrow') }, async (t) => {
  const files = [
    write(manifestOf(analytics), parts, false),
    write(manifestOf(cnes), parts.slice(1), false),
    write(published, [], false),
  ]
  const validated = await runPython(
    `import sys, logging, mlcroissant as mlc
for file in sys.argv[1:]:
    metadata = mlc.Dataset(file).metadata
    print(len(metadata.ctx.issues.errors), len(metadata.ctx.issues.warnings), metadata.ctx.conforms_to.value, len(metadata.record_sets), sep='\\t')`,
    ...files,
  )
  t.equal(validated.code, 0, validated.stderr.slice(-500))
  const lines = validated.stdout.trim().split('\n')
  t.equal(lines.length, files.length)
  for (const line of lines) t.match(line, /^0\t0\thttp:\/\/mlcommons\.org\/croissant\/1\.1\t\d+$/)
  const read = await runPython(
    `import sys, mlcroissant as mlc
dataset = mlc.Dataset(sys.argv[1])
for records in sys.argv[2:]:
    print(records, sum(1 for _ in dataset.records(records)), sep='\\t')`,
    write(manifestOf(cnes), [], true),
    // With codes, flags, coordinates, dates, numbers, and months that are files of their own.
    ...READ,
  )
  t.equal(read.code, 0, read.stderr.slice(-500))
  const rows = new Map(
    read.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t') as [string, string]),
  )
  const listed = manifestOf(cnes).files.map(({ path, rows: expected }) => [
    path.replace(/\/part-0\.parquet$/, '').replace('/reference_period=', '-'),
    String(expected),
  ])
  t.same([...rows], listed.filter(([set = '']) => READ.includes(set)).sort())
})

/** What DCAT-AP 3 makes mandatory or recommends of a dataset and its distributions, as shapes. */
const SHAPES = `
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix spdx: <http://spdx.org/rdf/terms#> .
[] a sh:NodeShape ; sh:targetClass dcat:Dataset ; sh:nodeKind sh:IRI ;
  sh:property [ sh:path dct:title ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ,
    [ sh:path dct:description ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ,
    [ sh:path dct:identifier ; sh:minCount 1 ; sh:maxCount 1 ] ,
    [ sh:path dcat:version ; sh:minCount 1 ; sh:maxCount 1 ] ,
    [ sh:path dcat:keyword ; sh:minCount 1 ; sh:nodeKind sh:Literal ] ,
    [ sh:path dct:issued ; sh:maxCount 1 ; sh:datatype xsd:gYearMonth ] ,
    [ sh:path dct:creator ; sh:minCount 1 ; sh:class foaf:Agent ] ,
    [ sh:path dct:publisher ; sh:maxCount 1 ; sh:class foaf:Agent ] ,
    [ sh:path dct:temporal ; sh:minCount 1 ; sh:class dct:PeriodOfTime ] ,
    [ sh:path dcat:distribution ; sh:minCount 1 ; sh:class dcat:Distribution ] .
[] a sh:NodeShape ; sh:targetClass dcat:Distribution ;
  sh:property [ sh:path dcat:accessURL ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ,
    [ sh:path dcat:downloadURL ; sh:minCount 1 ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ,
    [ sh:path dcat:mediaType ; sh:maxCount 1 ; sh:class dct:MediaType ] ,
    [ sh:path dcat:byteSize ; sh:minCount 1 ; sh:maxCount 1 ; sh:datatype xsd:nonNegativeInteger ] ,
    [ sh:path spdx:checksum ; sh:minCount 1 ; sh:maxCount 1 ; sh:class spdx:Checksum ] .
[] a sh:NodeShape ; sh:targetClass spdx:Checksum ;
  sh:property [ sh:path spdx:algorithm ; sh:minCount 1 ; sh:nodeKind sh:IRI ] ,
    [ sh:path spdx:checksumValue ; sh:minCount 1 ; sh:datatype xsd:hexBinary ; sh:minLength 64 ; sh:maxLength 64 ] .
`

t.test('rdflib and pySHACL', { skip: withoutPython('rdflib', 'pyshacl') }, async (t) => {
  const script = `import sys, rdflib, pyshacl
from rdflib.namespace import DCAT, RDF, SDO
shapes = rdflib.Graph().parse(data=sys.argv[1], format='turtle')
for file in sys.argv[2:]:
    graph = rdflib.Graph().parse(file, format='json-ld')
    conforms, _, text = pyshacl.validate(graph, shacl_graph=shapes)
    same = set(graph.subjects(RDF.type, DCAT.Dataset)) == set(graph.subjects(RDF.type, SDO.Dataset))
    print(conforms, same, len(set(graph.objects(None, DCAT.downloadURL))), sep='\\t')
    print(text, file=sys.stderr)`
  const manifests = [manifestOf(analytics), manifestOf(cnes), published]
  const files = [
    write(manifestOf(analytics), parts, false),
    write(manifestOf(cnes), parts.slice(1), false),
    write(published, [], false),
  ]
  const { code, stdout, stderr } = await runPython(script, SHAPES, ...files)
  t.equal(code, 0, stderr.slice(-500))
  t.same(
    stdout.trim().split('\n'),
    manifests.map((manifest) => `True\tTrue\t${manifest.files.length}`),
    stderr.slice(0, 1000),
  )
  const [broken = ''] = files
  writeFileSync(broken, readFileSync(broken, 'utf8').replaceAll('dcat:downloadURL', 'dcat:other'))
  t.match((await runPython(script, SHAPES, broken)).stdout, /^False/, 'the shapes find what is missing')
})
