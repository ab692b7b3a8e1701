#!/bin/sh
# Makes the certificates of the tests anew, good from 2020 for a hundred years. The keys open nothing but the tests.
set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/ca.cnf" <<END
[ca]
default_ca = tests
[tests]
database = $scratch/index
new_certs_dir = $scratch
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
email_in_dn = no
preserve = yes
[any]
countryName = optional
organizationName = optional
organizationalUnitName = optional
commonName = supplied
END
: >"$scratch/index"

key() {
  openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"
}

# name, subject, the rest of openssl ca's arguments
sign() {
  name=$1
  subject=$2
  shift 2
  openssl req -new -key "$name.key" -subj "$subject" -utf8 -out "$scratch/$name.csr"
  openssl ca -batch -notext -config "$scratch/ca.cnf" -in "$scratch/$name.csr" -out "$name.crt" -utf8 \
    -extfile "$scratch/$name.ext" -startdate 20200101000000Z "$@" 2>/dev/null
}

# name
ca() {
  key "$1"
  printf 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n' >"$scratch/$1.ext"
  sign "$1" "/CN=hedgerow test $1" -selfsign -keyfile "$1.key" -enddate 21200101000000Z
}

# name, CA, subject, usage, subjectAltName or nothing, year of its end
leaf() {
  key "$1"
  {
    printf 'basicConstraints=critical,CA:false\nextendedKeyUsage=%s\n' "$4"
    if [ -n "$5" ]; then printf 'subjectAltName=%s\n' "$5"; fi
  } >"$scratch/$1.ext"
  sign "$1" "$3" -cert "$2.crt" -keyfile "$2.key" -enddate "${6}0101000000Z"
}

local='DNS:localhost,IP:127.0.0.1'
ca ca
ca other-ca
leaf server ca '/CN=server one' serverAuth "$local" 2120
leaf server-two ca '/CN=server two' serverAuth "$local" 2120
leaf client ca '/C=NL/O=Hedge, Row "Ltd"/OU=Grün/CN=orders' clientAuth \
  'URI:spiffe://hedgerow.test/orders,DNS:orders.test,DNS:orders-two.test' 2120
leaf client-two ca '/CN=client two' clientAuth '' 2120
leaf stranger other-ca '/CN=stranger' clientAuth '' 2120
leaf expired ca '/CN=expired' clientAuth,serverAuth "$local" 2021
