use longhaul_protocol::{AgentAccess, METHODS};

use super::*;

fn params_of(schema: &Value, method: &str) -> Vec<String> {
    let of = schema["methods"][method]["params"]["$ref"].as_str().unwrap();
    let params = schema.pointer(of.trim_start_matches('#')).unwrap();
    params["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn exactly_the_methods_for_an_agents_own_project_have_listed_params() {
    let own: Vec<&str> = METHODS
        .iter()
        .filter(|info| info.agents == AgentAccess::OwnProject)
        .map(|info| info.name)
        .collect();
    let listed: Vec<&str> = FIELDS.iter().map(|listed| listed.method).collect();
    assert_eq!(listed, own);
}

#[test]
fn every_listed_param_exists_and_names_are_checked_against_the_project() {
    let schema = longhaul_protocol::schema::schema();
    for MethodFields { method, named, plain } in FIELDS {
        let known = params_of(&schema, method);
        let named = named.iter().map(|(name, field)| (*name, Some(*field)));
        for (name, field) in named.chain(plain.iter().map(|name| (*name, None))) {
            assert!(known.iter().any(|known| known == name), "{method} has no {name}");
            let expected = match name {
                "thread_id" => Thread,
                "handle" => Handle,
                "compaction_id" => Compaction,
                "cwd" if method.starts_with("thread/") => FolderOrProject,
                "cwd" => Folder,
                "path" if *method == "thread/sync" => Transcript,
                _ => continue,
            };
            assert_eq!(field, Some(expected), "{method}.{name}");
        }
    }
}
