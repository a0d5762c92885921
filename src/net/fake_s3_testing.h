#pragma once

// For tests: a bucket in memory behind an `HttpClient`. It answers the requests
// of `S3Client` as the documentation of S3 says. They are sent to real servers
// by python/tests/test_object_stores.py.

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "net/aws_signature.h"
#include "net/hmac.h"
#include "net/http.h"

namespace smdebug {

class FakeS3 : public HttpClient {
 public:
  static constexpr std::size_t kKeysPerPage = 7;

  explicit FakeS3(std::string bucket = "bucket") : bucket_(std::move(bucket)) {}

  // Answers in place of the bucket, if it returns something. It gets the number
  // of the request, from 1 on.
  std::function<std::optional<Result<HttpResponse>>(const HttpRequest&, int)>
      instead;
  // Called after a request was carried out: the answer may be lost.
  std::function<std::optional<Result<HttpResponse>>(const HttpRequest&, int)>
      afterward;

  Result<HttpResponse> send(const HttpRequest& request) const override {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    const int number = static_cast<int>(requests_.size());
    if (instead) {
      if (auto answer = instead(request, number)) return *std::move(answer);
    }
    HttpResponse response = answer(request);
    if (request.method == "HEAD") {
      response.headers.push_back(
          {"content-length", std::to_string(response.body.size())});
      response.body.clear();
    }
    if (response.body.size() > request.max_response_bytes) {
      return Error{Error::Code::io, "the answer is too long"};
    }
    if (afterward) {
      if (auto other = afterward(request, number)) return *std::move(other);
    }
    return response;
  }

  std::vector<HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::map<std::string, std::string> objects() const {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  std::size_t open_uploads() const {
    const std::lock_guard lock(mutex_);
    return uploads_.size();
  }

 private:
  using Query = std::map<std::string, std::string>;

  static HttpResponse failure(int status, std::string_view code) {
    return {status, "<?xml version=\"1.0\"?><Error><Code>" + std::string(code) +
                        "</Code><Message>told by the test</Message></Error>"};
  }

  static std::string tag(const std::string& object) {
    return '"' + hex_text(md5(object)) + '"';
  }

  static std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        plain += text[i];
        continue;
      }
      int byte = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      plain += static_cast<char>(byte);
      i += 2;
    }
    return plain;
  }

  static Query query_of(std::string_view text) {
    Query query;
    while (!text.empty()) {
      const std::string_view field = text.substr(0, text.find('&'));
      const std::size_t equals = std::min(field.find('='), field.size());
      query[decoded(field.substr(0, equals))] =
          equals < field.size() ? decoded(field.substr(equals + 1)) : "";
      text.remove_prefix(std::min(field.size() + 1, text.size()));
    }
    return query;
  }

  static std::string_view header(const HttpRequest& request,
                                 std::string_view name) {
    const auto found =
        std::ranges::find(request.headers, name, &HttpHeader::name);
    return found == request.headers.end() ? std::string_view() : found->value;
  }

  HttpResponse answer(const HttpRequest& request) const {
    const UrlParts url = *split_url(request.url);
    std::string path = decoded(url.path).substr(1);
    if (!url.authority.starts_with(bucket_ + ".")) {
      if (path.substr(0, path.find('/')) != bucket_) {
        return failure(404, "NoSuchBucket");
      }
      path.erase(0, std::min(bucket_.size() + 1, path.size()));
    }
    const Query query = query_of(url.query);
    if (query.contains("list-type")) return page(query);
    if (query.contains("uploads")) return begin(path);
    if (query.contains("uploadId")) return upload(request, path, query);
    if (request.method == "PUT") return put(request, path);
    if (request.method == "DELETE")
      return objects_.erase(path), HttpResponse{204};
    return get(request, path);
  }

  HttpResponse put(const HttpRequest& request, const std::string& key) const {
    if (header(request, "if-none-match") == "*" && objects_.contains(key)) {
      return failure(412, "PreconditionFailed");
    }
    const std::string source = decoded(header(request, "x-amz-copy-source"));
    if (source.empty()) {
      objects_[key] = request.body;
      checksums_[key] = header(request, "x-amz-checksum-crc32c");
      return {200};
    }
    const auto found = objects_.find(source.substr(bucket_.size() + 2));
    if (found == objects_.end()) return failure(404, "NoSuchKey");
    objects_[key] = std::string(found->second);
    checksums_.erase(key);
    return {200, "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"};
  }

  HttpResponse get(const HttpRequest& request, const std::string& key) const {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return failure(404, "NoSuchKey");
    std::string_view range = header(request, "range");
    if (range.empty()) {
      HttpResponse whole{200, found->second, {{"etag", tag(found->second)}}};
      const auto checksum = checksums_.find(key);
      if (checksum != checksums_.end() && !checksum->second.empty()) {
        whole.headers.push_back({"x-amz-checksum-crc32c", checksum->second});
      }
      return whole;
    }
    range.remove_prefix(std::string_view("bytes=").size());
    const std::size_t dash = range.find('-');
    const std::uint64_t start =
        *find_number<std::uint64_t>(range.substr(0, dash));
    const std::uint64_t last =
        find_number<std::uint64_t>(range.substr(dash + 1))
            .value_or(UINT64_MAX - 1);
    if (start >= found->second.size()) return failure(416, "InvalidRange");
    return {206,
            found->second.substr(start, last + 1 - start),
            {{"etag", tag(found->second)}}};
  }

  HttpResponse page(const Query& query) const {
    const auto text = [&](const char* name) {
      const auto found = query.find(name);
      return found == query.end() ? std::string() : found->second;
    };
    const std::string after =
        std::max(text("start-after"), decoded(text("continuation-token")));
    std::string body = "<ListBucketResult><EncodingType>url</EncodingType>",
                last;
    std::size_t count = 0;
    bool has_more = false;
    const std::string prefix = text("prefix"), delimiter = text("delimiter");
    for (const auto& [key, object] : objects_) {
      if (!key.starts_with(prefix) || (!after.empty() && key <= after)) {
        continue;
      }
      const std::size_t end =
          delimiter.empty() ? key.npos : key.find(delimiter, prefix.size());
      if (end != key.npos) {
        const std::string folder = key.substr(0, end + 1);
        if (last.starts_with(folder) || after.starts_with(folder)) continue;
        has_more = count++ == kKeysPerPage;
        if (has_more) break;
        last = folder + "\xff";
        body += "<CommonPrefixes><Prefix>" + uri_encoded(folder, true) +
                "</Prefix></CommonPrefixes>";
        continue;
      }
      has_more = count++ == kKeysPerPage;
      if (has_more) break;
      last = key;
      body += "<Contents><Key>" + uri_encoded(key, true) + "</Key><Size>" +
              std::to_string(object.size()) + "</Size><ETag>" + tag(object) +
              "</ETag></Contents>";
    }
    body += has_more
                ? "<IsTruncated>true</IsTruncated><NextContinuationToken>" +
                      uri_encoded(last) + "</NextContinuationToken>"
                : "<IsTruncated>false</IsTruncated>";
    return {200, body + "</ListBucketResult>"};
  }

  HttpResponse begin(const std::string& key) const {
    const std::string id = "upload " + std::to_string(++begun_);
    uploads_[id] = {key, {}};
    return {200, "<InitiateMultipartUploadResult><UploadId>" + id +
                     "</UploadId></InitiateMultipartUploadResult>"};
  }

  HttpResponse upload(const HttpRequest& request, const std::string& key,
                      const Query& query) const {
    const auto found = uploads_.find(query.at("uploadId"));
    if (found == uploads_.end() || found->second.key != key) {
      return failure(404, "NoSuchUpload");
    }
    if (request.method == "PUT") {
      const int number = *find_number<int>(query.at("partNumber"));
      found->second.parts[number] = request.body;
      return {200, "", {{"etag", "\"tag " + std::to_string(number) + "\""}}};
    }
    if (request.method == "POST") {
      std::string whole;
      for (const auto& [number, part] : found->second.parts) {
        if (request.body.find("\"tag " + std::to_string(number) + "\"") ==
            std::string::npos) {
          return failure(400, "InvalidPart");
        }
        whole += part;
      }
      objects_[key] = std::move(whole);
      checksums_.erase(key);
    }
    uploads_.erase(found);
    return {request.method == "POST" ? 200 : 204};
  }

  struct Upload {
    std::string key;
    std::map<int, std::string> parts;
  };

  const std::string bucket_;
  mutable std::mutex mutex_;
  mutable std::vector<HttpRequest> requests_;
  mutable std::map<std::string, std::string> objects_, checksums_;
  mutable std::map<std::string, Upload> uploads_;
  mutable int begun_ = 0;
};

}  // namespace smdebug
